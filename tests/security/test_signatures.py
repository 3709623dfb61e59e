"""Signatures: a file that must be signed is taken only as its signer wrote it."""

from __future__ import annotations

import zipfile

import pytest
import torch

import tracepack
from tests.archive.files import corrupt, rewritten
from tracepack.cli import main
from tracepack.serialization.container.archive import Archive
from tracepack.serialization.container.schema import WEIGHTS
from tracepack.serialization.container.signatures import sign, signatures

ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
from cryptography.hazmat.primitives import serialization  # noqa: E402


@pytest.fixture
def keys(tmp_path):
    """Paths of a private and a public key."""
    key = ed25519.Ed25519PrivateKey.generate()
    private, public = tmp_path / "key.pem", tmp_path / "key.pub"
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


def test_a_signed_file_loads_for_who_asks_for_the_key(cell_file, keys, capsys):
    path, module, x, h = cell_file
    unsigned = path.read_bytes()
    with pytest.raises(tracepack.TrustError, match="the file bears no signature by the given key; got no signature"):
        tracepack.load(path, signed_by=keys[1])
    assert main(["sign", str(path), "--key", str(keys[0])]) == 0
    assert "signed by the key" in capsys.readouterr().out
    for key in (keys[1], str(keys[1]), keys[1].read_bytes(), [keys[1]],
                serialization.load_pem_public_key(keys[1].read_bytes())):  # fmt: skip
        assert torch.equal(tracepack.load(path, signed_by=key)(x, h)[0], module(x, h)[0])
    assert torch.equal(tracepack.load(path)(x, h)[0], module(x, h)[0])  # signed files load without a key, too
    assert path.read_bytes().startswith(unsigned[:-2])  # but for the comment of the zip, the file is as it was
    assert main(["verify", str(path), "--signed-by", str(keys[1])]) == 0


def test_another_key_is_not_enough_and_several_signatures_may_stand(cell_file, keys):
    path = cell_file[0]
    other = ed25519.Ed25519PrivateKey.generate()
    sign(path, other)
    with pytest.raises(tracepack.TrustError, match=r"no signature by the given key; got 1 signatures by [0-9a-f]{16}"):
        tracepack.load(path, signed_by=keys[1])
    sign(path, keys[0])
    sign(path, keys[0])
    assert len(signatures(Archive(path))) == 2
    for key in (keys[1], other.public_key(), [other.public_key(), keys[1]]):
        tracepack.load(path, signed_by=key)


@pytest.mark.parametrize("count", [100, 300])
def test_a_file_full_of_signatures_can_be_signed(cell_file, keys, count):
    path = cell_file[0]
    with zipfile.ZipFile(path, "a") as file:
        file.comment = b"\n".join(b"tracepack-ed25519 %064x %0128x" % (n, n) for n in range(count))
    sign(path, keys[0])
    tracepack.load(path, signed_by=keys[1])
    assert len(signatures(Archive(path))) == 100


def test_an_altered_file_is_refused(cell_file, keys, tmp_path):
    path = cell_file[0]
    sign(path, keys[0])
    with pytest.raises(tracepack.ArchiveError, match="a member was altered"):
        tracepack.load(corrupt(path.read_bytes(), WEIGHTS), signed_by=keys[1])
    comment = Archive(path).comment
    forged = rewritten(path, lambda m: m.update(name="forged"))
    assert forged[-2:] == b"\0\0"
    forged = forged[:-2] + len(comment).to_bytes(2, "little") + comment
    with pytest.raises(tracepack.TrustError, match="the signature is invalid: the file was altered after it was"):
        tracepack.load(forged, signed_by=keys[1])


def test_large_weights_are_hashed_where_a_signature_is_asked_for(tmp_path, keys):
    path = tmp_path / "large.tpk"
    op = tracepack.script(torch.nn.Linear(1600, 1600))
    tracepack.trace(lambda x: op(x), torch.rand(1, 1600)).save(path)
    sign(path, keys[0])
    data = corrupt(path.read_bytes(), WEIGHTS)
    tracepack.load(data)
    with pytest.raises(tracepack.ArchiveError, match="member 'weights.safetensors': a member was altered"):
        tracepack.load(data, signed_by=keys[1])


def test_an_altered_file_is_not_signed(cell_file, keys):
    path = cell_file[0]
    path.write_bytes(corrupt(path.read_bytes(), WEIGHTS))
    with pytest.raises(tracepack.ArchiveError, match="a member was altered"):
        sign(path, keys[0])


@pytest.mark.parametrize("key", ["nowhere.pem", b"text", 5, "a\0b"])
def test_what_is_no_key_is_refused(cell_file, key):
    with pytest.raises(tracepack.ArchiveError, match="cannot read the key"):
        tracepack.load(cell_file[0], signed_by=key)
    with pytest.raises(tracepack.ArchiveError, match="cannot read the key"):
        sign(cell_file[0], key)


def test_a_private_key_of_another_kind_is_refused(cell_file):
    from cryptography.hazmat.primitives.asymmetric import ec

    with pytest.raises(tracepack.ArchiveError, match="cannot read the key; got '?.*ECPrivateKey"):
        sign(cell_file[0], ec.generate_private_key(ec.SECP256R1()))
