"""A graph as a picture."""
