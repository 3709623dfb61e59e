"""Holds answers against answers that were stored: how exactly they can repeat, and on which kind of processor."""
