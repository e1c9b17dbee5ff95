"""`pitlake doctor`: whether this machine can run pitlake's features, and how to fix what is missing.

Each check gives a verdict and one sentence. The command fails if a required check fails. The command repairs nothing,
opens no connection and prints no secret.
"""

import os
import platform
import sys
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec

import click

from pitlake.cli import FAILED, render
from pitlake.cli.options import format_option, lake_option

LIBRARIES = ("duckdb", "pyarrow", "deltalake")
PLATFORM = ("dagster", "neo4j")
OLDEST, NEWEST = (3, 11), (3, 13)
FULL_BYTES, NEAR_BYTES, NEAR_SHARE = 16 << 20, 512 << 20, 50


@dataclass(frozen=True)
class Diagnosis:
    """The result of one check. A failed check that is not `required` is shown as a note."""

    name: str
    passed: bool
    says: str
    required: bool = True

    @property
    def verdict(self) -> str:
        """Return the verdict: ok, failed, or note."""
        return "ok" if self.passed else "failed" if self.required else "note"


@click.command("doctor")
@lake_option
@format_option(("table", "json"))
def command(lake: str | None, form: str) -> int:
    """Check this machine, the installation and the lake."""
    findings = [python(), libraries(), filling(), sealed_sessions(), lake_there(lake), *disks(lake), graph()]
    if form == "json":
        facts = [{"check": finding.name, "verdict": finding.verdict, "says": finding.says} for finding in findings]
        render.deliver(render.to_json(facts), None)
    else:
        rows = [(finding.name, finding.verdict, finding.says) for finding in findings]
        render.deliver(render.grid(("check", "verdict", "says"), rows), None)
    return FAILED if any(finding.verdict == "failed" for finding in findings) else 0


def python() -> Diagnosis:
    """Check that pitlake is tested on this Python."""
    says = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    return Diagnosis("python", OLDEST <= sys.version_info[:2] <= NEWEST, says)


def libraries() -> Diagnosis:
    """Check the libraries that read and write the lake."""
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        return Diagnosis("libraries", passed=False, says=f"not installed: {', '.join(missing)}; install pitlake again")
    return Diagnosis("libraries", passed=True, says=_versions(LIBRARIES))


def filling() -> Diagnosis:
    """Check the libraries of Dagster and the graph, which querying does not need."""
    missing = [name for name in PLATFORM if find_spec(name) is None]
    install = "querying and `pitlake sync` work without; pip install 'pitlake[platform]' installs it"
    says = f"not installed: {', '.join(missing)}; {install}"
    return Diagnosis("platform", not missing, says if missing else _versions(PLATFORM), required=False)


def _versions(names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {metadata.version(name)}" for name in names)


def sealed_sessions() -> Diagnosis:
    """Check that this system can seal an as-of session."""
    from pitlake.session.sealed.sandbox import lacking

    if not (problem := lacking()):
        return Diagnosis("sealed sessions", passed=True, says="the kernel can seal a session")
    step = 'for trusted code use isolation="in_process"'
    return Diagnosis("sealed sessions", passed=False, says=f"{problem}; {step}")


def lake_there(root: str | None) -> Diagnosis:
    """Check the lake that this command line would use."""
    from pitlake.errors import LakeError, LakeNotFound
    from pitlake.lake.lake import Lake

    lake = Lake(root)
    try:
        lake.look_through()
        entry = lake.entry()
    except LakeNotFound:
        return Diagnosis(
            "lake", passed=False, says=f"none at {lake.location} yet; `make demo` builds one", required=False
        )
    except LakeError as error:
        return Diagnosis("lake", passed=False, says=str(error))
    return Diagnosis("lake", passed=True, says=f"{lake.location}, version {entry.version}, {len(entry.tables)} tables")


def disks(root: str | None) -> list[Diagnosis]:
    """Check the free space of the lake, its staging and the caches."""
    from pitlake import machine
    from pitlake.lake.lake import Lake
    from pitlake.lake.publishing.stage import STAGING
    from pitlake.lake.storage.signed_cache import caches

    lake = Lake(root)
    lake_name = "lake" if lake.location == str(lake.root) else "lake's mirror"
    places = {lake_name: lake.root, "staging": lake.root / STAGING, "cache": caches()}
    diagnoses = []
    for name, path in places.items():
        room = machine.room(path)
        says = f"{path}, {room.free >> 20:,} of {room.size >> 20:,} MiB free"
        if not room.files:
            says += ", but this user can create no more files there"
        full = room.free < FULL_BYTES or not room.files
        near = room.free < max(NEAR_BYTES, room.size // NEAR_SHARE)
        advice = "; free space there: `pitlake vacuum --apply` removes what no version of the lake needs"
        sentence = f"{'full' if full else 'nearly full'}: {says}{advice}" if full or near else says
        diagnoses.append(Diagnosis(f"disk of the {name}", passed=not (full or near), says=sentence, required=full))
    return diagnoses


def graph() -> Diagnosis:
    """Check which source graph a run would read."""
    if os.environ.get("NEO4J_URI"):
        return Diagnosis("graph", passed=True, says="the server of NEO4J_URI")
    if find_spec("arcadedb_embedded") is not None:
        return Diagnosis("graph", passed=True, says="the embedded server, as NEO4J_URI is not set")
    says = "none: set NEO4J_URI, or install pitlake[embedded-graph]"
    return Diagnosis("graph", passed=False, says=says, required=False)
