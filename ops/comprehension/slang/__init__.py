"""The emitter of Slang for comprehensions, for GPUs."""
