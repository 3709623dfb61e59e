"""The engines over torch's operator database, on numbers that mean to show where they compute otherwise."""
