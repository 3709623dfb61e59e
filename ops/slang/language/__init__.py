"""The language Slang as data: types, dtypes, sources, specializations, errors."""
