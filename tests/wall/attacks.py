"""The attack statements, loaded from attacks/*.sql and aimed at one world.

Each line is an attack, except for comments, which start with `-- `. Placeholders name real files of the world, so that
a statement is refused by the wall, not because its file does not exist.
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
    """An attack: its class, its line in the file of that class, and the statement."""

    kind: str
    line: int
    sql: str

    @property
    def name(self) -> str:
        """Return the name used in reports."""
        return f"{self.kind}:{self.line}"


def load(world: World, dataset: str, kinds: tuple[str, ...] = CLASSES, port: int = 9) -> Iterator[Attack]:
    """Yield every attack of the given classes, aimed at one dataset of a world."""
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
    past = min(file.path for file in files if file.hi <= as_of)  # exists in every world
    later = [file for file in files if file.hi > as_of]
    future = min(later, key=lambda file: (file.lo <= as_of, file.path)).path  # a small table may have only such a file
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
