"""What do people put in, and how is it read and changed?"""
