"""`python -m bench [--full] [part …]`: run the bench's parts, in one run on one machine, and print their figures.

`--full` gives each part the arguments it names in FULL: the sizes its aims are stated for, which takes long.
"""

import sys
from importlib import import_module
from pathlib import Path

from bench.figures import show

NO_PARTS = ("__init__", "__main__", "biglake", "feast_join", "figures", "panel", "plain", "webserver")
PARTS = tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in NO_PARTS))


def main(asked: list[str]) -> int:
    """Run the asked parts, or all of them."""
    full, asked = "--full" in asked, [part for part in asked if part != "--full"]
    unknown = set(asked) - set(PARTS)
    if unknown:
        print(f"part: there is no {', '.join(sorted(unknown))}; choose from {', '.join(PARTS)}", file=sys.stderr)
        return 2
    for part in asked or PARTS:
        print(f"measuring {part} …", file=sys.stderr)
        module = import_module(f"bench.{part}")
        show(module.run(**getattr(module, "FULL", {}) if full else {}), part)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
