"""Forge's files: a single tree of paths for memory, skills, the book and a session's own files.

`paths` checks paths, `query` parses filters of listings, `forge_fs` answers from `backends`.
"""

from forge.fs.entries import DirEntry
from forge.fs.forge_fs import ForgeFS, ReadFS

__all__ = ["DirEntry", "ForgeFS", "ReadFS"]
