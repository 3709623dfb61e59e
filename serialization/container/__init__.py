"""The file itself: one stored zip, whole or not at all, its members and hashes, its schema and signatures."""
