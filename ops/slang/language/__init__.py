"""What Slang says: types, dtypes, sources, errors."""
