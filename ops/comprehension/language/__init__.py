"""The language: from text to checked definitions."""
