"""The lake: stage, audit, publish, versions, compaction, vacuum. What one writes is append-only and versioned.

The way in is `Lake`; `manifest` is what readers get. As-of sessions, views and doors are not here.
"""

__all__ = ["Lake", "mount"]


def __getattr__(name: str) -> object:
    """Import the lake's heavy libraries only when it is used: sessions need the manifest alone."""
    if name in __all__:
        import sys

        from pitlake import machine

        machine.require("pitlake", sys.prefix)  # before libraries that die where there is too little
        from pitlake.lake import lake

        home: object = getattr(lake, name)
        return home
    raise AttributeError(f"module 'pitlake.lake' has no attribute {name!r}")
