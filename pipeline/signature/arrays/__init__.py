"""What is known of the arrays of a pipeline: their dtypes and sizes."""
