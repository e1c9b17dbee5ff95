"""Opens the processes of a session at an instant, and moves them to later instants."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from pitlake import machine
from pitlake.contract import Dataset
from pitlake.lake.storage.manifest import Snapshot
from pitlake.session.backends import Backend, Indexed, WithHindsight
from pitlake.session.contracts import Catalogue
from pitlake.session.limits import Limits
from pitlake.session.sealed.process import SealedProcess
from pitlake.session.sql.statements import Opening
from pitlake.session.visible.binding import Binding
from pitlake.session.visible.cut_cache import CutCache


@dataclass(frozen=True, kw_only=True)
class AtInstant:
    """The backends of a session at one instant: its own DuckDB, and processes that run only catalogue queries."""

    binding: Binding
    backend: Backend
    index: Indexed | None
    with_hindsight: WithHindsight | None

    def close_queries(self) -> None:
        """End the processes for catalogue queries."""
        for processes in filter(None, (self.index, self.with_hindsight)):
            processes.close()

    def close(self) -> None:
        self.close_queries()
        self.backend.close()


@dataclass(frozen=True, kw_only=True)
class Opener:
    """Opens backends for one lake version and these datasets. omit: whether hindsight columns are left out."""

    snapshot: Snapshot
    catalogue: Catalogue
    datasets: Sequence[Dataset]
    limits: Limits
    cut_cache: CutCache
    sealed: bool
    omit: bool

    def open(self, as_of: datetime | None, *, moves: bool = False) -> AtInstant:
        """Open the backends of an instant. moves: whether to reserve room for files of later instants."""
        binding = Binding(self.snapshot, as_of, self.datasets, self.omit)
        return self._at(binding, self._start(binding, moves=moves))

    def advance(self, before: AtInstant, as_of: datetime, *, keep: bool) -> AtInstant:
        """Return the backends of a later instant, and end those of the earlier one.

        keep: whether the session's process may continue. If it has no room for the new files, another one is opened.
        """
        binding = Binding(self.snapshot, as_of, self.datasets, self.omit)
        before.close_queries()
        self.cut_cache.keep_months()
        try:
            with machine.working_in("a session of the lake", "."):
                opening = Opening(binding, self.catalogue.views)
                if keep and before.backend.advance(binding, before.binding, self.cut_cache, opening):
                    return self._at(binding, before.backend)
        except BaseException:
            before.close()
            raise
        before.close()
        return self.open(as_of, moves=True)

    def _at(self, binding: Binding, backend: Backend) -> AtInstant:
        as_of = binding.as_of

        def complete() -> Backend:
            return self._start(Binding(self.snapshot, as_of, self.datasets))

        large = frozenset(relation.name for relation in binding.relations if relation.rows > self.cut_cache.few)
        return AtInstant(
            binding=binding,
            backend=backend,
            index=Indexed(large, partial(self._start_indexed, as_of)) if self.sealed and as_of else None,
            with_hindsight=WithHindsight(complete) if self.omit else None,
        )

    def _start_indexed(
        self, as_of: datetime | None, names: Collection[str], searched: Collection[str]
    ) -> Backend | None:
        datasets = self.catalogue.choose(names, open_mode=False)
        with_index = Binding(self.snapshot, as_of, datasets, indexed=searched)
        backend = self._start(with_index)
        opening = Opening(with_index, self.catalogue.views)
        if opening.indexed or any(relation.mapped for relation in with_index.relations):
            return backend
        backend.close()
        return None

    def _start(self, binding: Binding, *, moves: bool = False) -> Backend:
        opening = Opening(binding, self.catalogue.views)
        with machine.working_in("a session of the lake", "."):
            if self.sealed:
                return SealedProcess(binding, self.cut_cache, self.limits, opening, moves=moves)
            from pitlake.session.in_process import InProcess

            return InProcess(binding, self.cut_cache, self.limits, opening)
