"""Voice activity detection: the ScriptModule of silero-vad, with its state and control flow, packed into one file.

The module holds what no graph of operators can (attributes that are assigned, branches that raise), so that it stays
TorchScript inside the archive, and the archive is loaded with `trust=True`. Its state is part of the pipeline: every
session starts in silence. The sound is synthesised: pulses of a voice through the resonances of vowels, and noise.

python samples/voice_activity.py          # needs the package silero-vad
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import torch

import tracepack

RATE, CHUNK = 16_000, 512
VOWELS = [(730, 1090, 2440), (270, 2290, 3010), (570, 840, 2410), (300, 870, 2240), (530, 1840, 2480)]  # Hz


def module_path() -> Path:
    """The TorchScript file of the installed package, which need not be imported."""
    spec = find_spec("silero_vad")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("This sample needs the package silero-vad: pip install silero-vad")
    return Path(next(iter(spec.submodule_search_locations))) / "data" / "silero_vad.jit"


def vowel(formants: tuple[int, ...], seconds: float, pitch: float, generator: torch.Generator) -> torch.Tensor:
    """A sung vowel: harmonics of a wavering pitch, each as loud as the resonances make it."""
    time = torch.arange(int(seconds * RATE)) / RATE
    phase = 2 * torch.pi * pitch * (time + 0.004 * torch.sin(2 * torch.pi * 5 * time))
    sound = torch.zeros_like(time)
    for harmonic in range(1, int(4000 / pitch)):
        frequency = harmonic * pitch
        loudness = sum(1 / (1 + ((frequency - formant) / 90) ** 2) for formant in formants) / harmonic**0.3
        sound += loudness * torch.sin(harmonic * phase)
    envelope = torch.sin(torch.linspace(0, torch.pi, len(time))).clamp(min=0) ** 0.5
    breath = torch.randn(len(time), generator=generator) * 0.01
    return (sound / sound.abs().max() + breath) * envelope


def recording() -> torch.Tensor:
    """Five seconds at 16 kHz: silence, a phrase of vowels, silence, another phrase, silence."""
    generator = torch.Generator().manual_seed(7)
    phrases = []
    for pitch in (118.0, 205.0):
        parts = [vowel(v, 0.22, pitch * (1 + 0.05 * i), generator) for i, v in enumerate(VOWELS)]
        phrases.append(torch.cat(parts))
    silence = torch.zeros(int(0.9 * RATE))
    sound = torch.cat([silence, phrases[0], silence, phrases[1], silence])
    sound = 0.4 * sound + 0.002 * torch.randn(len(sound), generator=generator)
    return sound[: len(sound) // CHUNK * CHUNK]


def spans(probabilities: torch.Tensor, threshold: float = 0.5) -> list[tuple[float, float]]:
    """Where speech is, in seconds."""
    found: list[tuple[float, float]] = []
    start: int | None = None
    for index, speech in enumerate([*(probabilities > threshold).tolist(), False]):
        if speech and start is None:
            start = index
        elif not speech and start is not None:
            found.append((start * CHUNK / RATE, index * CHUNK / RATE))
            start = None
    return found


def pack(path: Path) -> None:
    """Writes the detector into one file."""
    op = tracepack.script(module_path(), device="cpu", name="silero")

    def process(chunk: torch.Tensor, rate: int) -> torch.Tensor:
        return op(chunk, rate)[:, 0]

    tracepack.trace(process, torch.zeros(1, CHUNK), RATE).save(path)


def detect(path: Path) -> torch.Tensor:
    """The probability of speech in each chunk of the recording, from the file."""
    detector = tracepack.load(path, trust=True)
    return torch.cat([detector(chunk[None], RATE) for chunk in recording().split(CHUNK)])


def main() -> None:
    """Packs, detects in a process of its own, and compares with the ScriptModule chunk by chunk."""
    with tempfile.TemporaryDirectory() as folder:
        path, result = Path(folder) / "vad.tpk", Path(folder) / "probabilities.pt"
        pack(path)
        subprocess.run([sys.executable, __file__, "detect", path, result], check=True)
        found = torch.load(result)
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, speech at {spans(found)} s")
    eager = torch.jit.load(module_path())  # type: ignore[no-untyped-call]  # torch leaves it untyped
    with torch.no_grad():
        wanted = torch.cat([eager(chunk[None], RATE)[:, 0] for chunk in recording().split(CHUNK)])
    assert torch.equal(found, wanted), "the file does not answer as the module does"
    print(f"{len(found)} chunks, each with the probability that the eager module gives")


if __name__ == "__main__":
    if sys.argv[1:2] == ["detect"]:
        torch.save(detect(Path(sys.argv[2])), sys.argv[3])
    else:
        main()
