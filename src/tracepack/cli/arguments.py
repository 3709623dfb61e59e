"""The arguments of the command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any

from .. import __version__
from .exit_codes import MEANINGS

_EPILOG = "exit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in MEANINGS.items())


MOST_THREADS = 1024  # beyond what a machine can start, OpenMP ends the process


class Namespace(argparse.Namespace):
    """Parsed arguments; which are there depends on the command."""

    command: str
    file: str
    json: bool
    svg: str | None
    bodies: bool
    op: str | None
    lines: bool
    input: list[str]
    value: list[str]
    output: str | None
    device: str | None
    trust: bool
    signed_by: list[str]
    packages: list[str]
    key: str
    gpu_ops: str
    cpu_ops: str
    hashes_only: bool
    size: list[tuple[str, int]]
    seconds: float
    runs: int | None
    threads: int | None
    out: str
    engine: list[str]
    tolerance: float | None
    precision: str | None
    trace: str | None
    source: str
    target: str
    engine_name: str
    batch_size: int | None
    map: list[tuple[str, list[str]]]
    keep: list[str] | None
    id: str | None
    part_rows: int | None
    address: str | None
    workers: int | None
    num_gpus: float
    files: list[str]

    def server(self) -> dict[str, Any]:
        """The arguments of ``serve`` as `tracepack.serving.serve` takes them; what was not given is left out."""
        given = {name: value for name, value in vars(self).items() if name not in ("command", "json", "files")}
        return {"paths": self.files, **{name: value for name, value in given.items() if value is not None}}


def parse(arguments: Sequence[str] | None) -> Namespace:
    """Parses arguments; prints help or a usage error and exits where they ask for it or are wrong."""
    return _parser().parse_args(arguments, Namespace())


_OPTIONS = (
    (r"\btrust=True \(a command: --trust\)", "--trust"),
    (r"\btrust=True\b", "--trust"),
    (r"\b(gpu|cpu)_ops='(\w+)'", r"--\1-ops \2"),
)


def in_options(text: str) -> str:
    """A message with the options of `load` as the command line has them.

    Example:
        >>> in_options("Pass gpu_ops='cpu' to run it on the CPU.")
        'Pass --gpu-ops cpu to run it on the CPU.'
    """
    for pattern, option in _OPTIONS:
        text = re.sub(pattern, option, text)
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tracepack",
        description="Looks into, checks and runs pipelines packed by tracepack.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tracepack {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _command(commands, "inspect", "what an archive holds: ops, signature, devices, sizes, hashes, versions")
    _show(_command(commands, "show", "the graph, as text or as a picture"))
    _run(_command(commands, "run", "run a pipeline on inputs from files"))
    verify = _command(commands, "verify", "check every hash, and replay the golden examples")
    verify.add_argument("--hashes-only", action="store_true", help="do not replay the golden examples")
    _bench(_command(commands, "bench", "measure loading and running"))
    _optimize(_command(commands, "optimize", "choose the fastest engines by measurement, and write the file with them"))
    export = _command(commands, "export", "write the pipeline as an ONNX model for other runtimes")
    export.add_argument("out", metavar="OUT.onnx", help="the ONNX model to write")
    _sized(export)
    _profile(_command(commands, "profile", "measure what each node of a run takes"))
    sign = _command(commands, "sign", "sign an archive: its manifest, and with it every member")
    _serve(commands)
    sign.add_argument("--key", required=True, metavar="KEY.pem", help="an Ed25519 private key, without a password")
    _batch(_command(commands, "batch", "run a pipeline over Parquet, CSV or JSON lines; goes on where it was ended"))
    for name in ("run", "verify", "bench", "optimize", "export", "profile", "batch"):
        _loading(commands.choices[name])
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument("file", metavar="FILE", help="an archive, by custom *.tpk")
    command.add_argument("--json", action="store_true", help="print JSON for programs")
    return command


def _show(command: argparse.ArgumentParser) -> None:
    command.add_argument("--svg", metavar="OUT", help="draw a picture into this file; - for standard output")
    command.add_argument("--bodies", action="store_true", help="also show the graphs of the ops")
    command.add_argument("--op", metavar="NAME", help="show this op instead of the pipeline")
    command.add_argument("--lines", action="store_true", help="append the line of source that each node came from")


def _run(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--input", metavar="NAME=FILE", action="append", default=[],
        help=".npy, .npz, .json or .txt; a nested input by its name in the signature, or as a.b.0; "
        "a .npz or .json FILE without NAME= holds inputs by name",
    )  # fmt: skip
    command.add_argument(
        "--value", metavar="NAME=JSON", action="append", default=[], help="an input written here; a text without quotes"
    )
    command.add_argument("--output", metavar="OUT", help=".npz, .npy or .json; shown without it")


def _sized(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--size", metavar="N=8", action="append", default=[], type=_size,
        help="a size of the signature, for random inputs instead of the golden examples",
    )  # fmt: skip


def _optimize(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--out", required=True, metavar="OUT", help="the archive to write; it may be FILE")
    command.add_argument("--engine", metavar="NAME", action="append", default=[], help="try this one; all by default")
    command.add_argument("--precision", choices=("bf16", "int8"), help="a lower precision to try as well")
    command.add_argument("--tolerance", type=float, help="how far outputs may differ (default: that of rounding)")
    command.add_argument("--seconds", type=_positive, default=60.0, help="how long to search (default 60)")
    command.add_argument("--threads", type=_count, help="threads of torch and of the engines")
    _sized(command)


def _profile(command: argparse.ArgumentParser) -> None:
    command.add_argument("--trace", metavar="OUT.json", help="write a timeline that Perfetto opens")
    command.add_argument("--runs", type=_count, default=10, help="measure this many runs (default 10)")
    command.add_argument("--threads", type=_count, help="threads of torch")
    _sized(command)


def _batch(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="SOURCE", help="a .parquet, .csv, .tsv or .jsonl file, or a folder of them")
    command.add_argument("target", metavar="TARGET", help="the folder to write; bad rows go to TARGET.errors.parquet")
    command.add_argument("--engine", choices=("local", "ray"), default="local", dest="engine_name")
    command.add_argument("--batch-size", type=_count, help="rows of a run (default: measured)")
    command.add_argument(
        "--map", metavar="INPUT=COLUMN", action="append", default=[], type=_columns,
        help="the column of an input that is called otherwise; INPUT=A,B,C makes a row of several",
    )  # fmt: skip
    command.add_argument(
        "--keep", metavar="A,B", type=_names, help="the columns to keep; all by default, none for --keep="
    )
    command.add_argument("--id", metavar="COLUMN", help="the column that names rows in the table of errors")
    command.add_argument("--part-rows", type=_count, help="rows of one file of the target (default: some 64 MiB)")
    command.add_argument("--address", help="of a Ray cluster (default: a new one on this machine)")
    command.add_argument("--workers", type=_count, help="processes of Ray (default: one for each CPU)")
    command.add_argument("--num-gpus", type=float, default=0, help="GPUs of each of them")


def _columns(text: str) -> tuple[str, list[str]]:
    name, separator, columns = text.partition("=")
    if not separator or not name or not columns:
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is not INPUT=COLUMN")
    return name, columns.split(",")


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _bench(command: argparse.ArgumentParser) -> None:
    _sized(command)
    command.add_argument("--seconds", type=_positive, default=1.0, help="how long to measure (default 1)")
    command.add_argument("--runs", type=_count, help="measure this many runs instead")
    command.add_argument("--threads", type=_threads, help="threads of torch, 1 to 1024")


def _serve(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "answer requests by HTTP and gRPC (Open Inference Protocol v2)"
    command = commands.add_parser("serve", help=text, description=text[0].upper() + text[1:] + ".")
    command.set_defaults(json=False)
    add = command.add_argument
    add(
        "files", metavar="FILE", nargs="+", help="an archive, or a folder of them; a model is called by its file's stem"
    )
    add("--host", help="the address to listen on (default 127.0.0.1, this machine only)")
    add("--http-port", type=_port, help="default 8000; 0 takes a free one")
    add("--grpc-port", type=_port, help="default 8001; 0 takes a free one")
    add("--no-grpc", action="store_true", default=None, help="HTTP only")
    add("--workers", type=_threads, help="processes that share the ports (default 1)")
    add("--max-batch", type=_count, help="rows of several requests that are run together (default 1: none)")
    add("--max-delay-ms", type=float, help="how long a request waits for others to be run with (default 0)")
    add("--max-body", type=_count, help="bytes of a request (default 64 MiB); more is answered with 413")
    add("--max-queue", type=_count, help="requests that are run or wait, of a model (default 256); else 429")
    add("--max-connections", type=_count, help="open at a time (default 1024); else 429")
    add("--timeout", type=_positive, help="seconds that a request may take (default 60); else 504")
    add("--parallel", type=_threads, help="runs at a time in a process")
    add("--threads", type=_threads, help="threads of torch for each run")
    add("--max-sequences", type=_count, help="open streams of each model with state (default 1024)")
    add("--sequence-idle", type=_positive, help="seconds after which an idle stream is dropped (default 300)")
    add("--budget-seconds", type=_positive, help="end a run that takes longer")
    add("--budget-bytes", type=_count, help="end a run whose operators make more")
    add("--token-file", metavar="FILE", help="a file with the token that clients send as Authorization: Bearer")
    add("--tls-cert", metavar="FILE.pem", help="the certificate for TLS; needs --tls-key")
    add("--tls-key", metavar="FILE.pem", help="its key")
    add("--trust", metavar="MODEL", action="append", help="the name of a model that may run code")
    add("--signed-by", metavar="KEY.pem", action="append", help="refuse files not signed by one of these")
    add("--packages", metavar="NAME", action="append", type=_module, help="a module whose operators files may call")
    add("--device", help="where ops of accelerators run: cpu, cuda:1, gpu:0")
    add("--watch", action="store_true", default=None, help="load files again that are replaced; SIGHUP does so once")
    add("--drain", type=_positive, help="seconds for what has begun at SIGTERM (default 30)")
    add("--log-requests", action="store_true", default=None, help="a line of JSON for each request, on standard error")
    add("--spans", action="store_true", default=None, help="a span of OpenTelemetry for each request")


def _port(text: str) -> int:
    if not _is_number(text) or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is no port")
    return int(text)


def _loading(command: argparse.ArgumentParser) -> None:
    command.add_argument("--device", help="where ops of accelerators run: cpu, cuda:1, gpu:0, 0, -1")
    command.add_argument("--trust", action="store_true", help="allow ops that can run code")
    command.add_argument(
        "--signed-by", metavar="KEY.pem", action="append", default=[], help="refuse a file not signed by one of these"
    )
    command.add_argument(
        "--packages",
        metavar="NAME",
        action="append",
        default=[],
        type=_module,
        help="a module whose operators the file may call",
    )
    command.add_argument(
        "--gpu-ops", choices=("gpu", "cpu"), default="gpu", help="cpu moves ops of accelerators to the CPU"
    )
    command.add_argument(
        "--cpu-ops", choices=("cpu", "gpu"), default="cpu", help="gpu moves ops of the CPU to the accelerator"
    )


def _size(text: str) -> tuple[str, int]:
    name, separator, number = text.partition("=")
    if not separator or not _is_number(number):
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is not NAME=NUMBER")
    return name, int(number)


def _is_number(text: str) -> bool:
    """Whether it is a whole number of ASCII digits, which no size or count goes beyond."""
    return text.isascii() and text.isdigit() and len(text) <= 18


def _module(text: str) -> str:
    if not all(part.isidentifier() for part in text.split(".")):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a module")
    return text


def _count(text: str) -> int:
    if not _is_number(text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is not a positive whole number")
    return int(text)


def _threads(text: str) -> int:
    number = _count(text)
    if number > MOST_THREADS:
        raise argparse.ArgumentTypeError(f"{number} is more than {MOST_THREADS}")
    return number


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds")
    return number
