"""The lake: stage, audit, publish, versions, compaction, vacuum. What one writes is append-only and versioned.

The way in is `Lake`; `manifest` is what readers get. As-of sessions, views and doors are not here.
"""

__all__ = ["Lake"]


def __getattr__(name: str) -> object:
    """Import the lake's heavy libraries only when it is used: sessions need the manifest alone."""
    if name == "Lake":
        from pitlake.lake.lake import Lake

        return Lake
    raise AttributeError(f"module 'pitlake.lake' has no attribute {name!r}")
