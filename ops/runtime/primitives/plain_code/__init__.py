"""Blocks of plain Python in a graph: their language, what guards them, and what runs them."""
