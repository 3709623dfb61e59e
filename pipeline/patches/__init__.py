"""Replacements of functions of numpy, torch and Python while a function is recorded, in this process only."""
