"""Comprehensions as C++."""
