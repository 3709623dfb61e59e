"""The language: parses and checks a text."""
