"""The page at ``/``: the models of a server, a form to try each, and what its requests take. It asks no other host."""
