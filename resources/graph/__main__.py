"""`python -m resources.graph`: checks whether the configured graph answers and has nodes."""

import sys

from pitlake.errors import PitlakeError
from resources.graph.open import open_graph
from resources.graph.resource import filled


def main() -> int:
    """Check the graph, print any problem in one line, and return the exit code."""
    try:
        with open_graph() as graph:
            filled(graph)
    except PitlakeError as error:
        print(f"graph: {error}", file=sys.stderr)  # noqa: T201 - a command line
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
