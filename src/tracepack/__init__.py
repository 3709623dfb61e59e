"""Packs a Python inference function, with every model and kernel that it calls, into one file."""
