"""Everything that is replaced in torch or in Python while a model is exported."""
