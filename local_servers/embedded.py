"""A graph server that needs no installation: ArcadeDB's Bolt endpoint, from the package arcadedb-embedded, on the
loopback.

It is the default without NEO4J_URI, for the demo, tests and laptops. It supports Bolt 5.4 and Cypher but is not Neo4j;
resources/graph/guard.py and sample/graph_admin.py explain the differences. lease.py shares one server per root among
its users.
"""

import base64
import contextlib
import hashlib
import importlib.util
import json
import secrets
from collections.abc import Iterator
from pathlib import Path

from local_servers.lease import Launch, Lease, lease
from local_servers.server import GraphServer, free_port, wait_for_answer
from pitlake.errors import BadInput

DATABASE = "neo4j"
COMMAND_TIMEOUT_MS = 3_600_000
_HASH_ROUNDS = 4096  # the passwords are 32 random bytes, valid as long as the server runs
# The server runs for minutes, so the C2 compiler never pays off; without it, start and load take half the time.
_JVM_OPTIONS = (
    "--add-modules=jdk.incubator.vector",
    "--enable-native-access=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
    "--add-opens=java.base/java.nio.channels.spi=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "-Djava.awt.headless=true",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
)


@contextlib.contextmanager
def embedded_graph(root: Path | str) -> Iterator[GraphServer]:
    """Run a server over the data in `root` (created if missing) during the block.

    Processes with the same root share one server. The server stops when the last process leaves or is killed. The
    passwords are new at each start and never on a command line. The data is kept and can be opened again.

    Raises:
        BadInput: arcadedb-embedded is not installed.
        GraphUnavailable: the server did not start.
    """
    home = Path(root).resolve()

    def launch() -> Launch:
        return _launch(home)

    def ready(server_lease: Lease) -> None:
        server = _server(server_lease.info)
        wait_for_answer(server.uri, server.admin_auth, DATABASE, server_lease, home / "server.log")

    with lease(home / "control", launch, ready) as server_lease:
        yield _server(server_lease.info)


def _server(info: dict[str, str]) -> GraphServer:
    return GraphServer(
        uri=f"bolt://127.0.0.1:{info['bolt_port']}",
        database=DATABASE,
        reader_auth=("reader", info["reader_password"]),
        admin_auth=("root", info["root_password"]),
        kind="arcadedb",
        admin_url=f"http://127.0.0.1:{info['http_port']}",
    )


def _launch(home: Path) -> Launch:
    spec = importlib.util.find_spec("arcadedb_embedded")
    if spec is None or spec.origin is None:
        problem = "none is set and the embedded graph server is not installed"
        raise BadInput("NEO4J_URI", problem, "pip install 'pitlake[embedded-graph]', or set NEO4J_URI")
    package = Path(spec.origin).parent
    home.chmod(0o700)
    info = {
        "bolt_port": str(free_port()),
        "http_port": str(free_port()),
        "root_password": secrets.token_urlsafe(32),
        "reader_password": secrets.token_urlsafe(32),
    }
    config = home / "config"
    config.mkdir(exist_ok=True)
    everything = ["createRecord", "readRecord", "updateRecord", "deleteRecord"]
    groups = {
        "admin": _group(["updateSecurity", "updateSchema", "updateDatabaseSettings"], everything),
        "reader": _group([], ["readRecord"]),
        "*": _group([], []),
    }
    # One of the users can only read.
    users = [
        {"name": "root", "password": _hashed(info["root_password"]), "databases": {"*": ["admin"]}},
        {"name": "reader", "password": _hashed(info["reader_password"]), "databases": {"*": ["reader"]}},
    ]
    databases = {"version": 2, "databases": {"*": {"groups": groups}}}
    (config / "server-groups.json").write_text(json.dumps(databases))
    accounts = config / "server-users.jsonl"
    accounts.touch(mode=0o600)
    accounts.write_text("".join(json.dumps(user) + "\n" for user in users))
    settings = {
        "server.rootPath": home,
        "server.mode": "production",
        "server.httpIncomingHost": "127.0.0.1",
        "server.httpIncomingPort": info["http_port"],
        "server.plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
        "server.defaultDatabases": f"{DATABASE}[]",
        "bolt.host": "127.0.0.1",
        "bolt.port": info["bolt_port"],
        "bolt.defaultDatabase": DATABASE,
        # Return aware datetimes as aware.
        "dateTimeImplementation": "java.time.ZonedDateTime",
        # The server ignores the driver's query timeout. This timeout covers the time until the reader has the last row.
        "command.timeout": COMMAND_TIMEOUT_MS,
    }
    command = [
        str(package / "jre" / "bin" / "java"),
        "-Xmx1g",
        *_JVM_OPTIONS,
        *(f"-Darcadedb.{name}={value}" for name, value in settings.items()),
        "-cp",
        str(package / "jars" / "*"),
        "com.arcadedb.server.ArcadeDBServer",
    ]
    return Launch(command, cwd=home, log=home / "server.log", info=info)


def _group(rights: list[str], on_records: list[str]) -> dict[str, object]:
    return {"access": rights, "types": {"*": {"access": on_records}}, "resultSetLimit": -1, "readTimeout": -1}


def _hashed(password: str) -> str:
    """Return a hashed password in ArcadeDB's format, which uses the salt as text."""
    salt = base64.b64encode(secrets.token_bytes(32)).decode()
    digest = hashlib.pbkdf2_hmac("sha256", password.encode(), salt.encode(), _HASH_ROUNDS, 32)
    return f"PBKDF2WithHmacSHA256${_HASH_ROUNDS}${salt}${base64.b64encode(digest).decode()}"
