"""`python -m pitlake`: the command line, if its script is not on the PATH."""

from pitlake.cli import main

main()
