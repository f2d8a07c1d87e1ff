"""Programs on top of the library: the command line and the page in a browser."""
