"""Signatures of archives: Ed25519 over the hash of the manifest, which holds the hashes of all other members.

They are lines in the comment of the zip: ``tracepack-ed25519 PUBLIC-KEY SIGNATURE``, both in hexadecimal. So a file can
be signed after it is written, with several keys, and a reader that knows no signatures still reads it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from typing import Any

from ...ops.graph.errors import ArchiveError, MissingExtraError, TrustError
from .archive import Archive
from .replacing import replacing

_PREFIX = "tracepack-ed25519"
_CONTEXT = b"tracepack archive, manifest sha256: "
_MOST = 100  # signatures of one file


def signed_bytes(archive: Archive) -> bytes:
    """The bytes that a signature of an archive signs."""
    return _CONTEXT + hashlib.sha256(archive.manifest_bytes()).digest()


def signatures(archive: Archive) -> list[tuple[bytes, bytes]]:
    """The public keys and signatures in an archive, unchecked."""
    found = []
    for line in archive.comment.decode("ascii", errors="replace").splitlines()[:_MOST]:
        match line.split(" "):
            case [prefix, key, signature] if prefix == _PREFIX and _is_hex(key, 32) and _is_hex(signature, 64):
                found.append((bytes.fromhex(key), bytes.fromhex(signature)))
    return found


def _is_hex(text: str, count: int) -> bool:
    return len(text) == 2 * count and all(c in "0123456789abcdef" for c in text)


def require_signature(archive: Archive, keys: Any) -> None:
    """Checks that an archive bears a signature by one of some keys, and that all of its members are as signed.

    Args:
        archive: the open archive.
        keys: a public key, or several: the path of a PEM file, its bytes, or a key of `cryptography`.

    Raises:
        TrustError: it bears no such signature, or the signature is invalid.
        ArchiveError: a member was altered, or a key cannot be read.
    """
    _, invalid = _library()
    known = _public_keys(keys)
    raw = {_raw(key): key for key in known}
    message, seen = signed_bytes(archive), signatures(archive)
    for name, signature in seen:
        if name in raw:
            try:
                raw[name].verify(signature, message)
            except invalid as error:
                raise TrustError(
                    "the signature is invalid: the file was altered after it was signed", where=archive.label
                ) from error
            archive.check_listing()
            for member in archive.names():
                archive.check(member)
            return
    raise TrustError(
        "the file bears no signature by the given key", where=archive.label,
        got=f"{len(seen)} signatures by {', '.join(key.hex()[:16] for key, _ in seen)}" if seen else "no signature",
        fix="Sign it with: tracepack sign FILE --key KEY.pem",
    )  # fmt: skip


def sign(path: str | os.PathLike[str], key: Any) -> str:
    """Adds a signature to a file, in place of an earlier one by the same key; the file is replaced atomically.

    Args:
        path: the archive.
        key: the private key (Ed25519): the path of a PEM file, its bytes, or a key of `cryptography`.

    Returns:
        The public key in hexadecimal.

    Raises:
        ArchiveError: the file or the key cannot be read, a member was altered, or the file cannot be written.
    """
    private = private_key(key)
    archive = Archive(path)
    archive.check_listing()
    for member in archive.names():
        archive.check(member)
    public = _raw(private.public_key())
    others = [(known, signature) for known, signature in signatures(archive) if known != public]
    # The new one comes first: a file from others may hold as many as are read, or as a comment can hold.
    rows = [(public, private.sign(signed_bytes(archive))), *others][:_MOST]
    comment = "\n".join(f"{_PREFIX} {known.hex()} {signature.hex()}" for known, signature in rows)
    with replacing(path) as file:
        with open(path, "rb") as source:
            shutil.copyfileobj(source, file, 1 << 20)
        with zipfile.ZipFile(file, "a") as zipped:
            zipped.comment = comment.encode("ascii")
    return public.hex()


# -- keys ------------------------------------------------------------------------------------------------------


def _library() -> tuple[Any, type[Exception]]:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
    except ImportError as error:
        raise MissingExtraError(
            "signatures need the package 'cryptography'", fix="Install it with: pip install 'tracepack[sign]'"
        ) from error
    return serialization, InvalidSignature


def _raw(key: Any) -> bytes:
    serialization, _ = _library()
    return bytes(key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw))


def _public_keys(keys: Any) -> list[Any]:
    return [public_key(key) for key in (keys if isinstance(keys, list | tuple | set) else [keys])]


def public_pems(keys: Any) -> list[bytes]:
    """The PEM of each public key, as `require_signature` takes them, so that another process can have them.

    Raises:
        ArchiveError: one cannot be read.
    """
    serialization, _ = _library()
    form = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return [bytes(key.public_bytes(*form)) for key in _public_keys(keys)]


def public_key(key: Any) -> Any:
    """A public key (Ed25519) from the path of a PEM file, its bytes, or a key of `cryptography`.

    Raises:
        ArchiveError: it cannot be read, or is a key of another kind.
    """
    serialization, _ = _library()
    if hasattr(key, "verify"):
        return _checked(key, "Ed25519PublicKey")
    data = _bytes(key)
    try:
        return _checked(serialization.load_pem_public_key(data), "Ed25519PublicKey")
    except (ValueError, TypeError) as error:
        raise _not_a_key(key, "the PEM of an Ed25519 public key") from error


def private_key(key: Any) -> Any:
    """A private key (Ed25519, without a password), as `public_key` reads a public one.

    Raises:
        ArchiveError: it cannot be read, or is a key of another kind.
    """
    serialization, _ = _library()
    if hasattr(key, "sign"):
        return _checked(key, "Ed25519PrivateKey")
    data = _bytes(key)
    try:
        return _checked(serialization.load_pem_private_key(data, password=None), "Ed25519PrivateKey")
    except (ValueError, TypeError) as error:
        raise _not_a_key(key, "the PEM of an Ed25519 private key without a password") from error


def _checked(key: Any, kind: str) -> Any:
    if kind not in {base.__name__ for base in type(key).__mro__}:
        raise _not_a_key(type(key).__name__, f"an {kind}")
    return key


def _bytes(key: Any) -> bytes:
    if isinstance(key, bytes):
        return key
    try:
        with open(os.fspath(key), "rb") as file:
            return file.read(1 << 16)
    except (OSError, TypeError, ValueError) as error:
        raise _not_a_key(key, "the path of a PEM file") from error


def _not_a_key(key: Any, expected: str) -> ArchiveError:
    got = "bytes" if isinstance(key, bytes) else repr(key)[:80]
    return ArchiveError("cannot read the key", got=got, expected=expected)
