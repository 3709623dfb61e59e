"""Replacements of functions of torch and Python while a model is exported."""
