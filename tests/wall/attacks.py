"""The attack statements, loaded from attacks/*.sql and aimed at one world.

One line is one attack; `-- ` lines are comments. Placeholders name real files of the world, so that a statement that
is refused is refused for the wall's reasons and not because its file does not exist.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.wall.worlds import World

FOLDER = Path(__file__).parent / "attacks"
CLASSES = tuple(sorted(path.stem for path in FOLDER.glob("*.sql")))


@dataclass(frozen=True)
class Attack:
    """One attack: its class, its line in the class's file and the statement."""

    kind: str
    line: int
    sql: str

    @property
    def name(self) -> str:
        """How reports call it."""
        return f"{self.kind}:{self.line}"


def load(world: World, dataset: str, kinds: tuple[str, ...] = CLASSES, port: int = 9) -> Iterator[Attack]:
    """Every attack of the given classes, aimed at one dataset of a world."""
    aim = targets(world, dataset, port)
    for kind in kinds:
        for number, line in enumerate((FOLDER / f"{kind}.sql").read_text().splitlines(), start=1):
            if line.strip() and not line.startswith("--"):
                sql = line
                for name, value in aim.items():
                    sql = sql.replace(f"{{{name}}}", value)
                yield Attack(kind, number, sql)


def targets(world: World, dataset: str, port: int) -> dict[str, str]:
    """Return the values of the placeholders."""
    files, as_of = world.snapshot.files(dataset), world.as_of
    past = min(file.path for file in files if file.hi <= as_of)  # a name that every world has
    later = [file for file in files if file.hi > as_of]
    future = min(later, key=lambda file: (file.lo <= as_of, file.path)).path  # a small table may have no other
    return {
        "lake": str(world.root),
        "tables": str(world.root / "tables" / dataset),
        "dataset": dataset,
        "future_file": future,
        "past_file": past,
        "straddling_file": min((file.path for file in files if file.lo <= as_of < file.hi), default=future),
        "bound_file": past,
        "log_file": str(world.root / "_lake" / "log" / f"{1:020d}.json"),
        "delta_log_file": str(world.root / "_lake" / "log" / f"{1:020d}.json"),
        "parent_pid": str(os.getpid()),
        "port": str(port),
    }
