"""The contracts of a session, and the datasets it binds."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pitlake.aliases import meant
from pitlake.contract import Dataset
from pitlake.errors import BadInput, choice
from pitlake.questions.catalogue import unions


@dataclass(frozen=True)
class Catalogue:
    """The contracts of a session, and the texts of views that differ from `agent_view`."""

    contracts: Mapping[str, Dataset]
    views: Mapping[str, str] = field(default_factory=dict)

    def choose(self, names: Collection[str] | None, *, open_mode: bool) -> list[Dataset]:
        """Return the datasets to bind, in alphabetical order. Raises BadInput for an unknown or unavailable name."""
        names = None if names is None else [own for name in names for own in self._meant(name)]
        for name in names or ():
            if name not in self.contracts:
                raise BadInput(
                    "datasets",
                    f"there is no dataset {name!r}",
                    choice(name, sorted(self.contracts), "pitlake datasets"),
                )
            if self.contracts[name].open_only and not open_mode:
                raise BadInput("datasets", f"{name} is shown in open mode only", "leave it out, or give open_mode=True")
        chosen = [self.contracts[name] for name in sorted(set(self.contracts if names is None else names))]
        return [dataset for dataset in chosen if open_mode or not dataset.open_only]

    def _meant(self, name: str) -> tuple[str, ...]:
        if name in self.contracts:
            return (name,)
        return unions()[name].reads if name in unions() else (meant(name),)
