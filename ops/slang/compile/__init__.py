"""Compiles specializations: generated Slang, the compilers, and the reflection of sources."""
