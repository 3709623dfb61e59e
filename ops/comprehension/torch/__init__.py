"""Comprehensions on the operators of torch: the reference, which runs everywhere."""
