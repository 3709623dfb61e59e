"""What stands for functions that make bytes of values, values of bytes, and texts or digests of both."""
