"""The pins of constraints.txt agree with each other on every Python that is tested."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

PINS = [
    Requirement(line)
    for line in (Path(__file__).parents[2] / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def pinned(environment: dict[str, str]) -> dict[str, str]:
    """Each pinned package -> its version."""
    pins = [pin for pin in PINS if pin.marker is None or pin.marker.evaluate(environment)]
    assert len({canonicalize_name(pin.name) for pin in pins}) == len(pins)
    return {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in pins}


def requirements(pins: dict[str, str], environment: dict[str, str]) -> Iterator[tuple[str, Requirement]]:
    """What the pinned packages need, as far as just these versions of them are installed here."""
    for name, version in pins.items():
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        if package.version.partition("+")[0] == version:
            for requirement in map(Requirement, package.requires or []):
                if requirement.marker is None or requirement.marker.evaluate({**environment, "extra": ""}):
                    yield name, requirement


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
def test_pins_agree_with_each_other(python) -> None:
    environment = {**default_environment(), "python_version": python, "python_full_version": f"{python}.0"}
    pins = pinned(environment)
    found = list(requirements(pins, environment))
    wrong = [
        f"{name} needs {requirement}, pinned is {pins[canonicalize_name(requirement.name)]}"
        for name, requirement in found
        if canonicalize_name(requirement.name) in pins
        and not requirement.specifier.contains(pins[canonicalize_name(requirement.name)], prereleases=True)
    ]
    assert wrong == []
    assert len(found) > 50


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
def test_pins_are_for_the_python_that_they_are_pinned_for(python) -> None:
    environment = {**default_environment(), "python_version": python, "python_full_version": f"{python}.20"}
    found: dict[str, str] = {}
    for name, version in pinned(environment).items():
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        if package.version.partition("+")[0] == version and (needed := package.metadata.get("Requires-Python")):
            found[name] = needed
    wrong = {name: needed for name, needed in found.items() if not SpecifierSet(needed).contains(f"{python}.20")}
    assert wrong == {}
    assert len(found) > 50
