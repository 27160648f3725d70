"""How much is there, and what changed?"""
