"""The lake: stage, audit, publish, versions, compaction and vacuum. Everything written is append-only and versioned.

`Lake` is the interface for writers, and `manifest` the interface for readers. Sessions and views are elsewhere.
"""

__all__ = ["Lake", "mount"]


def __getattr__(name: str) -> object:
    """Import the lake's heavy libraries only when they are used, because sessions need only the manifest."""
    if name in __all__:
        import sys

        from pitlake import machine

        # Check the limits before importing libraries that abort if they are too low.
        machine.require("pitlake", sys.prefix)
        from pitlake.lake import lake

        home: object = getattr(lake, name)
        return home
    raise AttributeError(f"module 'pitlake.lake' has no attribute {name!r}")
