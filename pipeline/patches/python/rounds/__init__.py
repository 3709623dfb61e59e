"""The rounds of loops: `while` loops as others, what runs between two rounds, and lists that grow in place."""
