"""The archive: its schema, the msgpack codec, the weights and the zip file."""
