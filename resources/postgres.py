"""A private Postgres server on the loopback, from the system's packages, for `make serve` and the tests.

With Docker, `make up` starts Postgres in a container instead. This module does not depend on the stored data.
"""

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from local_servers.server import free_port
from pitlake.errors import BadInput, ServerFailed

USER = DATABASE = "dagster"
SYSTEM_USER = "postgres"
_DEBIAN = Path("/usr/lib/postgresql")
_PATIENCE_SECONDS = 120.0


@dataclass(frozen=True)
class Postgres:
    """A running server on 127.0.0.1."""

    port: int
    password: str = field(repr=False)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that deploy/dagster-postgres.yaml reads."""
        return {
            "DAGSTER_PG_HOST": "127.0.0.1",
            "DAGSTER_PG_PORT": str(self.port),
            "DAGSTER_PG_USERNAME": USER,
            "DAGSTER_PG_PASSWORD": self.password,
            "DAGSTER_PG_DB": DATABASE,
        }

    @property
    def url(self) -> str:
        """The URL for SQLAlchemy, including the password, whose characters need no quoting in a URL."""
        return f"postgresql+psycopg2://{USER}:{self.password}@127.0.0.1:{self.port}/{DATABASE}"


def programs() -> Path | None:
    """Return the folder of the system's newest Postgres server programs, None if there are none."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    numbered = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]), reverse=True)
    return next(iter([*folders, *(path.parent for path in numbered)]), None)


@contextlib.contextmanager
def postgres(data: Path) -> Iterator[Postgres]:
    """Run the server over `data`, which is created if missing, and stop it on exit.

    Raises BadInput if no server programs are installed, ServerFailed if it does not start.
    """
    where = programs()
    if where is None:
        raise BadInput("postgres", "no server programs were found", "install the package postgresql, or use `make up`")
    account = _account()
    password = _initialise(where, data, account)
    port = free_port()
    command: list[str | Path] = [where / "postgres", "-D", data, "-p", str(port), "-c", "listen_addresses=127.0.0.1"]
    # A power cut loses at most the last moments of Dagster's log; the lake does not depend on it.
    command += ["-c", "unix_socket_directories=", "-c", "synchronous_commit=off", "-c", "max_connections=200"]
    log = data / "server.log"
    with log.open("ab") as output:
        server = subprocess.Popen(
            command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, start_new_session=True, **account._asdict()
        )
    try:
        _wait(server, port, password, log)
        yield Postgres(port, password)
    finally:
        server.send_signal(signal.SIGINT)  # fast shutdown, which closes connections and writes everything
        server.wait()


class _Account(NamedTuple):
    """The account to run as; None for the current user."""

    user: int | None = None
    group: int | None = None
    extra_groups: tuple[int, ...] | None = None


def _account() -> _Account:
    """Return the account for the server, because Postgres refuses root."""
    if os.geteuid() != 0:
        return _Account()
    try:
        account = pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        raise BadInput("postgres", "the server refuses to run as root", "start this as another user") from None
    return _Account(account.pw_uid, account.pw_gid, ())


def _initialise(where: Path, data: Path, account: _Account) -> str:
    password_file = data.with_name(f"{data.name}.password")
    if password_file.exists():
        return password_file.read_text()
    password = secrets.token_urlsafe(24)
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile("w", prefix="pitlake-") as file:
        file.write(password)
        file.flush()
        if account.user is not None and account.group is not None:
            os.chown(file.name, account.user, account.group)
            os.chown(data, account.user, account.group)
        completed = subprocess.run(
            [where / "initdb", "-D", data, "-U", USER, "-A", "scram-sha-256", "-E", "UTF8", f"--pwfile={file.name}"],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            **account._asdict(),
        )
    if completed.returncode:
        raise ServerFailed(f"initdb could not make {data}: {completed.stderr.strip().splitlines()[-1]}")
    descriptor = os.open(password_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(password)
    return password


def _wait(server: "subprocess.Popen[Any]", port: int, password: str, log: Path) -> None:
    import psycopg2

    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(psycopg2.OperationalError):
            connection = psycopg2.connect(
                host="127.0.0.1", port=port, user=USER, password=password, dbname="postgres", connect_timeout=5
            )
            with contextlib.closing(connection):
                connection.autocommit = True
                with connection.cursor() as cursor:
                    cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,))
                    if not cursor.fetchone():
                        cursor.execute(f"CREATE DATABASE {DATABASE}")
            return
        time.sleep(0.05)
    server.kill()
    raise ServerFailed(f"Postgres did not start; {log} says why")
