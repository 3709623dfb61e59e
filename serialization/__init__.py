"""The archive: its schema, the codec for msgpack, the weights and the zip file."""
