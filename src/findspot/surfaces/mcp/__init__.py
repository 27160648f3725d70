"""The Model Context Protocol: how agents reach Findspot, over HTTP and over standard input and output."""
