"""The emitter of C++ for comprehensions."""
