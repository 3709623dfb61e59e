"""The tests, in the folders of the source that they are about."""
