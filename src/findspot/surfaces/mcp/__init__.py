"""Findspot as agents see it: the Model Context Protocol over HTTP and over standard input and output."""
