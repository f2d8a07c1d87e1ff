"""A page to play with: complete digits, read words, learn a table of strings.

Served by Python's own web server on this machine alone; the page is one file and asks nobody else.
"""

from .server import serve

__all__ = ["serve"]
