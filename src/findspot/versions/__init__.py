"""What changed between two versions of a text, and how many words does a text have?"""
