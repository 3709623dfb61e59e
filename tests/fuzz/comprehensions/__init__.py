"""Comprehensions by chance, with literals at the ends of integers, held against whole numbers."""
