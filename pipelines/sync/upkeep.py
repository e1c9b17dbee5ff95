"""Compaction between the batches of a sync, so that the cost of a batch does not depend on earlier ones."""

from collections.abc import Sequence

from pitlake.lake.lake import Lake

MOST_NEW_FILES = 600
FEW_FILES = 100


class Upkeep:
    """Compacts datasets after many files were added since the last compaction."""

    def __init__(self, lake: Lake, datasets: Sequence[str], *, most_new_files: int = MOST_NEW_FILES) -> None:
        self._lake, self._datasets, self._most_new_files = lake, datasets, most_new_files
        self._compacted_to = dict.fromkeys(datasets, 0)

    def compact_where_due(self, *, at_end: bool = False) -> bool:
        """Compact the datasets with many new files, and return whether there were any.

        at_end: whether to compact datasets with few new files too, because they will be queried next.
        """
        compacted, allowed = False, FEW_FILES if at_end else self._most_new_files
        for name in self._datasets:
            snapshot = self._lake.snapshot()
            if len(snapshot.files(name)) - self._compacted_to[name] > allowed:
                compacted |= self._lake.compact(name).changed
                self._compacted_to[name] = len(self._lake.snapshot().files(name))
        return compacted
