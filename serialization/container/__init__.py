"""The file of an archive: one stored zip, its members and hashes, its schema and signatures."""
