"""How is content found?"""
