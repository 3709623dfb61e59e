"""Comprehensions as Slang, for GPUs."""
