"""`python -m sample [scale]`: loads the sample world into the local graph that the environment names.

`resources.graph.open` selects the server and directory. Nothing is written to the server at NEO4J_URI.
"""

import sys

from pitlake.errors import BadInput, PitlakeError
from resources.graph.open import graph_server
from sample.graph_admin import GraphAdmin
from sample.load import load_world


def main(arguments: list[str]) -> int:
    """Load the world, print the written amounts, and return the exit code."""
    try:
        if len(arguments) > 1 or not all(argument.isdecimal() for argument in arguments):
            raise BadInput("scale", "must be one whole number", "type for example: python -m sample 10")
        scale = int(arguments[0]) if arguments else 1
        with graph_server() as server, GraphAdmin(server) as admin:
            loaded = load_world(
                admin, scale, lambda done, total, name: print(f"{done}/{total} {name}", file=sys.stderr)
            )
    except PitlakeError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"{loaded.nodes:,} nodes and {loaded.edges:,} edges")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
