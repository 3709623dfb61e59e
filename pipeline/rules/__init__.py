"""The rules of the recorder: how it treats each kind of call."""
