"""The command line: ``tracepack COMMAND FILE``, with the commands of `commands/`.

`inspect`, `show` and `sign` never import torch. An error is one line on standard error and an exit code of
`exit_codes`; a traceback is shown before it only where the environment variable TRACEPACK_TRACEBACK asks for it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from ..ops.graph.errors import MissingExtraError, TracepackError, printable
from . import exit_codes as exits
from .arguments import Namespace, in_options, parse
from .report import Report, show, silence


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: without the program's name; those of the process by default.

    Returns:
        The exit code; `exits.MEANINGS` explains it.

    Example:
        >>> main(["inspect", "no-such-file.tpk"])
        3
    """
    try:
        options = parse(arguments)
        with _short_warnings():
            report = _perform(options)
        show(report, as_json=options.json)
        return report.code
    except TracepackError as error:
        return _failed(str(error), exits.exit_code(error), error)
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has ended, as `head` does; closing standard output would print an error.
        silence(sys.stdout)
        return exits.OK
    except MemoryError as error:
        return _failed("there is not enough memory", exits.RUN, error)
    except Exception as error:  # an error of tracepack itself; the user sees no traceback
        text = f"internal error: {type(error).__name__}: {error}. Set TRACEPACK_TRACEBACK=1 to see where."
        return _failed(text, exits.INTERNAL, error)


def _failed(text: str, code: int, error: Exception) -> int:
    if os.environ.get("TRACEPACK_TRACEBACK"):
        _tell("".join(traceback.format_exception(error)))
    told = in_options(text.partition("Exception raised from")[0])  # the stack of C++ follows it
    _tell(f"tracepack: {printable(' '.join(told.split()))}\n")
    return code


def _tell(text: str) -> None:
    """Writes to standard error, where it is open; the exit code says the rest."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)


@contextlib.contextmanager
def _short_warnings() -> Iterator[None]:
    """A context in which a warning is one line, without the line of our code that gave it."""
    before = warnings.formatwarning
    warnings.formatwarning = lambda message, *_, **__: (
        f"tracepack: warning: {printable(' '.join(in_options(str(message)).split()))}\n"
    )
    try:
        yield
    finally:
        warnings.formatwarning = before


def _perform(options: Namespace) -> Report:
    match options.command:
        case "inspect":
            from .commands.inspect import inspect

            return inspect(options.file)
        case "show":
            from .commands.show import show as show_graph

            return show_graph(
                options.file, picture=options.svg, with_bodies=options.bodies, op=options.op, lines=options.lines
            )
        case "sign":
            from .commands.sign import sign

            return sign(options.file, options.key)
        case "serve":
            from .commands.serve import serve

            return serve(**options.server())
    try:
        import torch as torch
    except ImportError:
        raise MissingExtraError(
            f"{options.command} needs torch, which is not installed", fix="Install torch."
        ) from None
    return _perform_with_torch(options)


def _perform_with_torch(options: Namespace) -> Report:
    from .commands.batch import batch
    from .commands.bench import Effort, bench
    from .commands.export import export
    from .commands.optimize import Wanted, optimize
    from .commands.profile import profile
    from .commands.run import run
    from .commands.verify import verify
    from .loading import Loading

    keys, packages = tuple(options.signed_by), tuple(options.packages)
    loading = Loading(options.device, options.trust, options.gpu_ops, options.cpu_ops, keys, packages)
    match options.command:
        case "run":
            return run(options.file, options.input, options.value, options.output, loading)
        case "batch":
            return batch(options.file, options.source, options.target, loading, _job(options))
        case "verify":
            return verify(options.file, loading, hashes_only=options.hashes_only)
        case "optimize":
            wanted = Wanted(options.engine, options.tolerance, options.seconds, options.threads, options.precision)
            return optimize(options.file, options.out, loading, dict(options.size), wanted)
        case "export":
            return export(options.file, options.out, loading, dict(options.size))
        case "profile":
            runs, threads = options.runs or 1, options.threads
            sizes = dict(options.size)
            return profile(options.file, loading, sizes, runs=runs, threads=threads, trace=options.trace)
    return bench(options.file, loading, dict(options.size), Effort(options.seconds, options.runs, options.threads))


def _job(options: Namespace) -> dict[str, Any]:
    """The arguments of `tracepack.batch.run` that the command line names."""
    return {
        "engine": options.engine_name, "batch_size": options.batch_size, "part_rows": options.part_rows,
        "map": {name: columns[0] if len(columns) == 1 else columns for name, columns in options.map},
        "keep": options.keep, "id": options.id, "address": options.address, "workers": options.workers,
        "num_gpus": options.num_gpus,
    }  # fmt: skip
