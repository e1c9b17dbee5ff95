"""`python -m bench [--full] [--keep FILE] [part …]`: run the parts of the benchmark on one machine. Prints their
figures and which aims were met or missed, and stores everything in FILE as JSON. `--full` runs each part with its
arguments FULL: the sizes its aims are stated for, which takes long.
"""

import argparse
import json
import os
import sys
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path

from bench.figures import Figure, met, show

PARTS = ("extraction", "gate", "publish", "open", "peers", "walk", "search")


def main(arguments: list[str]) -> int:
    """Run the given parts, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--full", action="store_true", help="at the sizes the aims are stated for")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep the figures as JSON")
    options = parser.parse_args(arguments)
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        print(f"part: there is no {', '.join(sorted(unknown))}; choose from {', '.join(PARTS)}", file=sys.stderr)
        return 2
    figures_by_name: dict[str, list[Figure]] = {}
    for part in options.parts or PARTS:
        print(f"measuring {part} …", file=sys.stderr)
        module = import_module(f"bench.{part}")
        load = os.getloadavg()[0]
        figures_by_name[part] = module.run(**getattr(module, "FULL", {}) if options.full else {})
        show(figures_by_name[part], f"{part} (load before: {load:.1f} of {os.cpu_count()} cores)")
        if options.keep:
            machine = {"at": datetime.now(timezone.utc).isoformat(timespec="minutes"), "cores": os.cpu_count()}
            so_far = {"machine": machine, "parts": figures_by_name}
            options.keep.write_text(json.dumps(so_far, indent=1, ensure_ascii=False))
    with_aim = [figure for figures in figures_by_name.values() for figure in figures if met(figure) is not None]
    missed = [figure for figure in with_aim if not met(figure)]
    print(f"{len(with_aim) - len(missed)} of {len(with_aim)} aims met")
    for figure in missed:
        print(f"missed: {figure['name']} ({figure['aim']})")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
