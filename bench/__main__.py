"""`python -m bench [part …]`: run the bench's parts, in one run on one machine, and print their figures."""

import sys
from importlib import import_module
from pathlib import Path

from bench.figures import show

PARTS = tuple(
    sorted(
        path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in ("__init__", "__main__", "figures")
    )
)


def main(asked: list[str]) -> int:
    """Run the asked parts, or all of them."""
    unknown = set(asked) - set(PARTS)
    if unknown:
        print(f"part: there is no {', '.join(sorted(unknown))}; choose from {', '.join(PARTS)}", file=sys.stderr)
        return 2
    for part in asked or PARTS:
        print(f"measuring {part} …", file=sys.stderr)
        show(import_module(f"bench.{part}").run(), part)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
