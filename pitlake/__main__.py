"""`python -m pitlake`: the command line, for where its script is not on the PATH."""

from pitlake.cli import main

main()
