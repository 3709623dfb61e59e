"""Draws a graph as a picture."""
