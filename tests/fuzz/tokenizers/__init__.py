"""Fuzzes the JSON of tokenizers, and calls of them."""
