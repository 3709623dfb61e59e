"""Bytes of tensors, arrays and numbers: base64 and digests of a result, and the forms of `struct`."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import pickle
import struct
import zlib
from struct import unpack

import numpy as np
import torch

from tests.everyday.case import Case

HEADER = struct.Struct("<2H")
X = torch.arange(6.0).reshape(2, 3) / 7
TABLES = [
    [torch.ones(4, 1)],
    [torch.rand(0, 3)],
    [torch.rand(3, 7).T],
    [torch.rand(1, 1)],
    [torch.rand(8, 6)[::2, 1::2]],
]
DATA = [[b"RIFF\x02\x00\x00\x80?\x01rest"], [b"\x00\x00\x00\xff" * 3], [bytes(range(245, 256))]]


def of_tensors(process):
    return Case(process, [X.clone()], TABLES)


def of_bytes(process):
    return Case(process, [b"0123456789"], DATA)


def written_later(x):
    data = x.numpy().tobytes()
    x += 1
    return data.hex(), x


def salted(x):
    found = hashlib.sha256(b"salt")
    other = found.copy()
    found.update(x.numpy().tobytes())
    return found.hexdigest(), other.hexdigest(), found.name


def request(x):
    text = base64.b64encode(x.numpy().tobytes()).decode("ascii")
    return json.dumps({"data": text, "dtype": "float32", "shape": list(x.shape)})


def response(x):
    text = base64.b64encode(x.numpy().tobytes()).decode()
    return np.frombuffer(base64.b64decode(text), dtype=np.float32).reshape(x.shape)


def parts(d):
    magic, n, value, flag = struct.unpack("<4sBf?", d[:10])
    return magic == b"RIFF", n, repr(value), flag


def _text_of(x):
    return base64.b64encode(x.numpy().tobytes()).decode()


CASES = {
    "base64 of a tensor": of_tensors(lambda x: base64.b64encode(x.numpy().tobytes()).decode()),
    "in a helper": of_tensors(lambda x: {"data": _text_of(x), "mask": _text_of(x > 0.5)}),
    "base64 of each row": of_tensors(lambda x: [_text_of(row) for row in x]),
    "base64 of an array": of_tensors(lambda x: base64.b64encode(np.ascontiguousarray(x.numpy())).decode()),
    "hexadecimal digits": of_tensors(lambda x: x.numpy().tobytes().hex()),
    "in other orders": of_tensors(lambda x: [x.numpy().tobytes(order).hex() for order in ("C", "F", "A")]),
    "of a part": of_tensors(lambda x: (x.numpy()[::-1].tobytes().hex(), x.numpy()[:, ::2].T.tobytes().hex())),
    "of other dtypes": of_tensors(
        lambda x: [
            y.numpy().tobytes().hex()
            for y in (x.half(), x.double(), x > 0.3, x.to(torch.uint8), x.to(torch.int16), x.to(torch.complex64))
        ]
    ),
    "of a scalar": of_tensors(lambda x: (x.sum().numpy().tobytes().hex(), x.numpy().sum(0).shape[0])),
    "of a number of numpy": Case(lambda x: x.numpy()[0].tobytes().hex(), [torch.rand(3)], [[torch.rand(1)]]),
    "written later": of_tensors(written_later),
    "digests": of_tensors(
        lambda x: (
            hashlib.md5(x.numpy().tobytes()).hexdigest(),
            hashlib.new("sha1", x.numpy().tobytes()).hexdigest(),
            zlib.crc32(x.numpy().tobytes()),
            int.from_bytes(hashlib.sha256(x.numpy().tobytes()).digest()[:4], "big") % 100,
        )
    ),
    "a digest that goes on": of_tensors(salted),
    "how many": of_tensors(lambda x: len(x.numpy().tobytes())),
    "in json": of_tensors(request),
    "there and back": of_tensors(response),
    "a tensor of them": Case(
        lambda x: torch.frombuffer(bytearray(x.numpy().tobytes()), dtype=x.dtype), [X], [[X.T], [X[:1]]]
    ),
    "packed bits": of_tensors(lambda x: np.packbits((x > 0.5).numpy()).tobytes().hex()),
    "bytes of an array": of_tensors(lambda x: bytes((x * 99).byte().numpy()).hex() + bytearray(x.numpy()).hex()),
    "bytes of a list": of_tensors(lambda x: bytes((x * 99).byte().flatten().tolist()).hex()),
    "bytes of numbers": of_bytes(lambda d: bytes([b ^ 255 for b in d]).hex() + bytearray(b // 2 for b in d).hex()),
    "a list of bytes": of_bytes(lambda d: list(bytes([d[0] // 2, 1, 2]))),
    "joined": of_tensors(lambda x: b"".join([row.numpy().tobytes() for row in x]).hex()),
    "joined by others": of_bytes(lambda d: b", ".join([d, b"x", d[:1]]).hex() + b",".join(d.split(b"a")).hex()),
    "a header": of_tensors(lambda x: (struct.pack("<2I", *x.shape) + x.numpy().tobytes()).hex()),
    "numbers of bytes": of_bytes(lambda d: (unpack("<2H", d[:4]), struct.unpack(">hB?", d[:4]), HEADER.unpack(d[:4]))),
    "aligned": of_bytes(lambda d: struct.unpack("@bi", d[:8])),
    "at a place": of_bytes(lambda d: [struct.unpack_from("<h", d, i)[0] for i in range(0, len(d) - 1, 2)]),
    "bytes between numbers": of_bytes(parts),
    "letters": of_bytes(lambda d: [each.hex() for each in struct.unpack("2cx1s", d[:4])]),
    "bytes of a number": of_bytes(lambda d: (struct.pack("<H", len(d)) + d).hex()),
    "bytes of several": of_bytes(lambda d: struct.pack(">2qe?", d[0], -d[1], d[0] / 3, d[0] > 50).hex()),
    "bytes of floats": Case(
        lambda x: struct.pack("<2f", x[0].item(), x.sum().item()).hex() + HEADER.pack(len(x), 2).hex(),
        [torch.rand(3)],
        [[torch.rand(1)], [torch.rand(9)]],
    ),
    "bytes of tensors": Case(lambda x: struct.pack("<d", x.sum()).hex(), [torch.rand(3)], [[torch.rand(0)]]),
    "filled bytes": of_bytes(lambda d: struct.pack("4s3s", d, b"ab").hex() + struct.pack("<4sH2s", d, 7, b"abc").hex()),
}  # fmt: skip

FAILING = {
    "no byte": (lambda d: bytes([d[0] + d[1]]).hex(), b"01", b"\xff\xff", ValueError, "a number is no byte"),
    "a byte below 0": (lambda d: bytes([d[0] - d[1]]).hex(), b"10", b"\x01\xff", ValueError, "got one below 0"),
    "a number that does not fit": (
        lambda d: struct.pack("B", d[0] + d[1]).hex(), b"01", b"\xff\xff", struct.error, "do not fit a format of bytes",
    ),
    "a float that does not fit": (
        lambda n: struct.pack("<f", n * 1.0).hex(), 3, 10**39, OverflowError, "do not fit a format of bytes",
    ),
    "too few bytes": (
        lambda d: struct.unpack("<I", d[:4]), b"abcd", b"abc", struct.error, "more or fewer bytes than a format has",
    ),
    "too few after a place": (
        lambda d: struct.unpack_from("<H", d, 2), b"abcd", b"abc", struct.error, "a buffer is too short",
    ),
}  # fmt: skip
"""What fails in Python fails in the file: the function, an example, one that fails, the error, and words of ours."""

REFUSED = {
    "an own order": (lambda x: x.numpy().tobytes("K").hex(), r'Write array.tobytes\("C"\)'),
    "the memory": (lambda x: x.numpy().data.tobytes().hex(), r"Write array.tobytes\(\), whose base64, digest or hex"),
    "a view of it": (lambda x: bytes(memoryview(x.numpy())).hex(), r"Write array.tobytes\(\)"),
    "bytes of a tensor": (lambda x: bytes(x.byte()).hex(), r"Write x.numpy\(\).tobytes\(\)"),
    "bytes of a scalar": (lambda x: bytes(x.long().sum().numpy()).hex(), r"Write array.tobytes\(\)"),
    "a file of bytes": (lambda x: io.BytesIO(x.numpy().tobytes()).getvalue(), "Use the bytes themselves: data = array"),
    "saved by numpy": (lambda x: np.save(io.BytesIO(), x.numpy()), "Return the array, and do it there"),
    "saved by torch": (lambda x: torch.save({"x": x}, io.BytesIO()), "Return the tensor, and save what the call gives"),
    "pickled": (lambda x: pickle.dumps(x.numpy()).hex(), "Return the array, and do it there"),
    "pieces of one size": (
        lambda x: [v for (v,) in struct.iter_unpack("<h", x.numpy().tobytes())], r"Write np.frombuffer\(data",
    ),
    "a length before bytes": (lambda x: struct.pack("4p", x.numpy().tobytes()).hex(), "Write the length as B"),
    "what stands behind the items": (
        lambda x: struct.pack("<4f", *x[0].tolist(), 2.0).hex(), r'Write struct.pack\("<3f", \*xs\) \+ struct.pack',
    ),
    "a changed bytearray": (lambda x: bytearray(x.numpy()).append(1), "Make new bytes: data = data [+] more"),
}  # fmt: skip
"""What is refused, and the form that is shown."""
