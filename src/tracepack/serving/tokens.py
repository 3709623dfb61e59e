"""The token that clients send as ``Authorization: Bearer …``, by HTTP and by gRPC."""

from __future__ import annotations

import hmac


def bears(given: bytes, token: str) -> bool:
    """Whether a header bears a token; the name of the scheme is of any case (RFC 9110, 11.1).

    Example:
        >>> bears(b"bearer secret", "secret"), bears(b"Bearer secre", "secret"), bears(b"secret", "secret")
        (True, False, False)
    """
    scheme, _, found = given.partition(b" ")
    return hmac.compare_digest(found.strip(), token.encode()) and scheme.lower() == b"bearer"
