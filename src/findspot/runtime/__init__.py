"""What do all parts of a running Findspot share?"""
