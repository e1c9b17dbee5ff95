"""`python -m tests.lake.denied LAKE FOLDER`: try every interface of a lake while one path at a time is denied.

Prints `{place: {door: [class, cause, path, exit code, text] or null}}`. Run it as a user who cannot bypass permissions.
"""

import json
import shutil
import sys
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path

from pitlake import cli
from pitlake.cli.doctor import lake_there
from pitlake.errors import PitlakeError
from pitlake.lake import Lake
from pitlake.session.contracts import Catalogue
from tests.lake.world import TOY, Toy, publish, utc
from tests.session.toylake import view_of
from tests.sessions import open_at

LATER = utc("2024-06-05T12:00:00-04:00")
READING, WRITING = 0o000, 0o500
READERS = ("versions", "conventions", "snapshot", "session", "doctor", "check_reports", "incidents", "vacuum, dry")
WRITERS = ("publish", "compact", "vacuum", "receipt")


def places(root: Path) -> dict[str, Path]:
    """Return the paths of a lake to deny: all folders, all files without a suffix, and one file per folder and suffix.
    A compacted file, which has no modification time, is preferred to the newest file.
    """
    result = {".": root}
    for path in sorted(root.rglob("*"), key=lambda path: path.stat().st_mtime_ns or sys.maxsize, reverse=True):
        kind = path.relative_to(root).as_posix()
        if path.is_dir():
            result[kind] = path
        else:
            folder = path.parent.relative_to(root).as_posix()
            result.setdefault(f"{folder}/*{path.suffix}" if path.suffix else kind, path)
    return result


def doors(root: Path):
    """Yield the actions on a lake, by name. Each action opens the lake anew, as a separate process would."""
    yield "versions", lambda: list(Lake(root).versions())
    yield "conventions", lambda: str((Lake(root).filings_count_from, Lake(root).judged_at(LATER)))
    yield "snapshot", lambda: [state.files for state in Lake(root).snapshot().tables.values()]
    yield "session", lambda: open_session(root)
    yield "doctor", lambda: lake_there(str(root))
    yield "check_reports", lambda: list(Lake(root).check_reports("toys"))
    yield "incidents", lambda: list(Lake(root).incidents())
    yield "publish", lambda: publish(Lake(root), [Toy("0a", "new", LATER), Toy("n", "x", LATER)], LATER)
    yield "compact", lambda: Lake(root).compact(TOY, before="2024-07")
    yield "vacuum, dry", lambda: Lake(root).vacuum(timedelta(0))
    yield "vacuum", lambda: Lake(root).vacuum(timedelta(0), dry_run=False)
    yield "receipt", lambda: Lake(root).keep_receipt(b'{"question": {"version": 1}}', 1)


def open_session(root: Path) -> None:
    catalogue = Catalogue({"toys": TOY}, {"toys": view_of(TOY)})
    with open_at(Lake(root).snapshot(), LATER, isolation="in_process", catalogue=catalogue) as session:
        session.sql("SELECT count(*) FROM toys").rows()


def tried(door) -> list | None:
    """Return a description of the error that an action raised, or None."""
    try:
        reply = door()
    except PitlakeError as error:
        return [type(error).__name__, getattr(error, "cause", ""), str(getattr(error, "path", "")), error.exit_code,
                str(error)]  # fmt: skip
    except Exception as error:  # noqa: BLE001  The tests look for errors of other types.
        return [type(error).__name__, "", "", 1, str(error)]
    return ["doctor", "", "", 0, reply.says] if getattr(reply, "passed", True) is False else None


def opened(path: Path) -> None:
    """Restore the permissions of a path, unless it no longer exists."""
    with suppress(FileNotFoundError):
        path.chmod(0o700)


def main() -> int:
    lake, folder = Path(sys.argv[1]), Path(sys.argv[2])
    result: dict[str, dict[str, list | None]] = {}
    for mode in (READING, WRITING):
        for place, there in places(lake).items():
            if mode == WRITING and not there.is_dir():
                continue
            reply = result[f"{mode:o} {place}"] = {}
            for names in (READERS, *((name,) for name in WRITERS)):
                root = folder / f"{mode:o} {len(result)} {names[0]}"
                shutil.copytree(lake, root)
                path = root / there.relative_to(lake)
                with ExitStack() as after:
                    after.callback(shutil.rmtree, root, ignore_errors=True)
                    after.callback(opened, path)
                    path.chmod(mode)
                    for name in names:
                        seen = json.dumps(tried(dict(doors(root))[name]))
                        reply[name] = json.loads(seen.replace(str(path), "PLACE"))
            if mode == READING and place in (".", "_lake/log", "tables/toys"):
                root = folder / "command"
                shutil.copytree(lake, root)
                path = root / there.relative_to(lake)
                path.chmod(mode)
                reply["command"] = ["exit", "", "", cli.invoke(["vacuum", "--lake", str(root)]), ""]
                path.chmod(0o700)
                shutil.rmtree(root)
    json.dump(result, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
