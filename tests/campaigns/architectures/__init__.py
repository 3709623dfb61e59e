"""Small models of many architectures: packed, reloaded, and held against eager."""
