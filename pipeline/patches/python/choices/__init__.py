"""Choices between values that are there before Python takes a side: look-ups choose, where data decides."""
