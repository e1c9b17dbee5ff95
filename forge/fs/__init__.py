"""Forge's files: a single tree of paths for memory, skills, the book and a session's files.

`paths` checks paths, `query` parses filters of listings, and `forge_fs` reads and writes through `backends`.
"""

from forge.fs.entries import DirEntry
from forge.fs.forge_fs import ForgeFS, ReadFS

__all__ = ["DirEntry", "ForgeFS", "ReadFS"]
