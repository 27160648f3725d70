"""How does content become searchable?"""
