"""Which processes serve, and who watches over them?"""
