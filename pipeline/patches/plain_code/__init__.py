"""Statements of a recorded function that become one block of plain Python in the graph."""
