"""Build the wheel and the source archive, and check them as users will receive them.

`python scripts/release.py DIST` makes both in an empty folder, installs the wheel into an empty environment, runs the
demo there, and writes the checksums, a bill of materials (CycloneDX) and the provenance (SLSA, unsigned) to DIST.
It publishes nothing.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

LARGEST_WHEEL = 8 << 20
ROOT = Path(__file__).resolve().parents[1]
REPOSITORY = "https://github.com/pitlake/pitlake"


def main(arguments: list[str]) -> int:
    """Build, check and describe the distributions. Return the exit code."""
    dist = Path(arguments[0]).absolute()
    if dist.exists() and any(dist.iterdir()):
        print(f"release: {dist} is not empty; remove it first", file=sys.stderr)
        return 2
    if changes := git("status", "--porcelain"):
        print(f"release: {changes.splitlines()[0].split()[-1]} is not committed; commit it first", file=sys.stderr)
        return 2
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, ".")
    (wheel,) = dist.glob("*.whl")
    if wheel.stat().st_size > LARGEST_WHEEL:
        print(f"release: {wheel.name} has {wheel.stat().st_size:,} bytes, more than {LARGEST_WHEEL:,}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        site = installed(wheel, Path(folder) / "env")
        run(Path(folder) / "env/bin/pitlake", "demo", "--into", Path(folder) / "lake")
        parts = bill(metadata.distributions(path=[str(site)]))
    (dist / "sbom.cdx.json").write_text(json.dumps(parts, indent=1) + "\n")
    statement = provenance(sorted(dist.glob("pitlake-*")))
    (dist / "provenance.intoto.json").write_text(json.dumps(statement, indent=1) + "\n")
    sums = [f"{digest(path)}  {path.name}" for path in sorted(dist.iterdir())]
    (dist / "SHA256SUMS").write_text("\n".join(sums) + "\n")
    print(f"{dist} is ready: uv publish {dist}/pitlake-*, then mcp-publisher publish")
    return 0


def installed(wheel: Path, environment: Path) -> Path:
    """Install a wheel and its dependencies from the package index, and return their site-packages folder."""
    run(sys.executable, "-m", "uv", "venv", "--quiet", environment)
    run(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", environment / "bin/python", wheel)
    return next(environment.glob("lib/python*/site-packages"))


def bill(distributions: Iterable[metadata.Distribution]) -> dict[str, object]:
    """Return a bill of materials of installed packages, in the format of CycloneDX."""
    packages = sorted((part.name, part.version, part.metadata.json.get("license_expression")) for part in distributions)
    components = [
        {"type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name.lower()}@{version}"}
        | ({"licenses": [{"expression": licence}]} if licence else {})
        for name, version, licence in packages
    ]
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": components}


def provenance(files: Iterable[Path]) -> dict[str, object]:
    """Return the provenance of the files: an in-toto statement with a predicate of SLSA."""
    commit, lock = git("rev-parse", "HEAD"), digest(ROOT / "requirements.lock")
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.name, "digest": {"sha256": digest(path)}} for path in files],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{REPOSITORY}/blob/main/scripts/release.py",
                "externalParameters": {"command": "make release"},
                "resolvedDependencies": [
                    {"uri": f"git+{REPOSITORY}", "digest": {"gitCommit": commit}},
                    {"uri": f"{REPOSITORY}/blob/{commit}/requirements.lock", "digest": {"sha256": lock}},
                ],
            },
            "runDetails": {"builder": {"id": f"{REPOSITORY}/blob/main/Makefile"}},
        },
    }


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def run(*command: object) -> None:
    subprocess.run([*map(str, command)], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
