"""`tracepack verify`: checks every hash of a file, and replays its golden examples."""

from __future__ import annotations

import re
from typing import Any

from ...ops.graph.errors import ArchiveError, one_line
from ...pipeline.comparing.golden import OutputReport
from ...pipeline.opening import verify_golden
from ...pipeline.pipeline import Pipeline
from ...serialization.container.archive import Archive
from ...serialization.container.signatures import require_signature
from ...serialization.golden import golden_examples
from .. import exit_codes as exits
from ..loading import Loading
from ..report import Block, Report, Table, Text


def verify(path: str, loading: Loading, *, hashes_only: bool) -> Report:
    """Checks every hash of an archive, then replays its golden examples.

    Raises:
        TracepackError: as `load`. Findings of the checks are in the report, and no errors.
    """
    keys = loading.keys()
    archive = Archive(path)
    archive.check_listing()
    altered = [name for name in archive.names() if not _intact(archive, name)]
    members = [{"name": name, "intact": name not in altered} for name in archive.names()]
    data: dict[str, Any] = {
        "file": path, "members": members, "examples": 0, "outputs": [], "passed": not altered, "processor": None,
    }  # fmt: skip
    count = len(members) - len(altered)
    blocks: list[Block] = [Text(f"{path}: {count} of {len(members)} members have the sha256 of the manifest")]
    blocks += [Text(f"altered: {one_line(name)}") for name in altered]
    if keys is not None and not altered:
        require_signature(archive, keys)
    if not altered and not hashes_only:
        _replay(archive, loading.load(path), data, blocks)
    return Report(data, blocks, exits.OK if data["passed"] else exits.FAILED)


def _intact(archive: Archive, name: str) -> bool:
    try:
        archive.check(name)
    except ArchiveError:
        return False
    return True


def _replay(archive: Archive, pipeline: Pipeline, data: dict[str, Any], blocks: list[Block]) -> None:
    if not golden_examples(archive):
        blocks.append(Text("no golden examples: save them with save(path, examples=[...])"))
        return
    report = verify_golden(pipeline, archive)
    names = {o.name: _plain_output(o.name) for o in report.outputs}
    outputs = [
        {
            "name": names[o.name],
            "largest_difference": o.largest,
            "tolerance": o.tolerance,
            "bit_equal": o.equal,
            "passed": o.passed,
        }
        for o in report.outputs
    ]
    processor = {"recorded": dict(report.recorded), "here": dict(report.here), "differs": report.moved}
    data |= {"examples": report.examples, "outputs": outputs, "passed": report.passed, "processor": processor}
    rows = [[names[o.name], f"{o.largest:.3g}", f"{o.tolerance:g}", _verdict(o)] for o in report.outputs]
    count = f"{report.examples} golden example{'s' if report.examples != 1 else ''}"
    blocks.append(Table(count, ["output", "largest difference>", "tolerance>", "verdict"], rows))
    if report.moved:
        blocks.append(Text(f"the processor differs: {one_line(report.moved_text)}"))


def _verdict(output: OutputReport) -> str:
    if output.equal:
        return "bit-equal"
    if output.within:
        return "within tolerance"
    return "differs, as rounding may on another processor" if output.passed else "DIFFERS"


def _plain_output(name: str) -> str:
    """The name of a golden output as `run` shows it: ``out['probs']`` is ``probs``."""
    return re.sub(r"^out\['(.*?)'\]", r"\1", name)
