"""The one IR of the project and its vocabulary. Nothing here imports torch, or anything else of the project."""
