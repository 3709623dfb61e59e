"""From a specialization to code: generated Slang, its compilers, and what they found."""
