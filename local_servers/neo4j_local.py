"""A real Neo4j Community server on the loopback, started from its Maven artifacts, for the contract suite and for users
who prefer Neo4j.

It needs Java 17 or newer and Maven. The jars (150 MB, GPLv3, not distributed with pitlake) are cached. The login is
random and stored next to the data, readable only by its owner. The Community edition has no roles: reader and admin
share one login, and READ transactions refuse writes.
"""

import contextlib
import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import neo4j
import platformdirs

from local_servers.lease import Launch, Lease, lease
from local_servers.server import GraphServer, free_port, wait_for_answer
from pitlake.errors import BadInput, GraphLoginFailed, GraphUnavailable
from pitlake.recorder import lock

DATABASE = "neo4j"
POM = Path(__file__).with_name("neo4j-pom.xml")
_FIRST_LOGIN = ("neo4j", "neo4j")
_CHANGE_LOGIN = "ALTER CURRENT USER SET PASSWORD FROM $old TO $new"
_LEAST_JAVA = 17
_MAVEN_SECONDS = 900
# The server runs for minutes, so the C2 compiler never pays off; without it, start and load take half the time.
_JVM_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "-Dlog4j2.disable.jmx=true",
)
_SETTINGS = """\
server.default_listen_address=127.0.0.1
server.bolt.listen_address=127.0.0.1:{bolt_port}
server.http.enabled=false
server.https.enabled=false
internal.server.bolt.thread_pool_shutdown_wait_time=1s
server.memory.pagecache.size=128m
dbms.security.auth_enabled=true
dbms.security.allow_csv_import_from_file_urls=false
dbms.usage_report.enabled=false
"""


def why_not() -> str:
    """Return why a local Neo4j cannot run on this machine, or ""."""
    if shutil.which("java") is None or shutil.which("mvn") is None:
        return f"needs Java {_LEAST_JAVA}+ and Maven on PATH"
    answer = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', answer)
    if version is None or int(version[1]) < _LEAST_JAVA:
        return f"needs Java {_LEAST_JAVA}+; `java` is {answer.splitlines()[0] if answer else 'silent'}"
    return ""


@contextlib.contextmanager
def local_neo4j(root: Path | str) -> Iterator[GraphServer]:
    """Run Neo4j over the data in `root` (created if missing) during the block, shared like `embedded_graph`.

    Raises:
        BadInput: Java or Maven is missing.
        GraphUnavailable: the jars could not be fetched, or the server did not start.
    """
    if reason := why_not():
        raise BadInput("PITLAKE_GRAPH", f"a local Neo4j {reason}", "install them, or leave PITLAKE_GRAPH at embedded")
    home = Path(root).resolve()

    def launch() -> Launch:
        jars = server_jars()
        home.chmod(0o700)
        for name in ("conf", "data", "logs", "run", "import", "plugins"):
            (home / name).mkdir(exist_ok=True)
        file = home / "control" / "password"
        if not file.exists():
            file.touch(mode=0o600)
            file.write_text(secrets.token_urlsafe(32))
        info = {"bolt_port": str(free_port()), "password": file.read_text()}
        (home / "conf" / "neo4j.conf").write_text(_SETTINGS.format(**info))
        command = [
            "java",
            "-Xmx768m",
            *_JVM_OPTIONS,
            "-cp",
            f"{jars}/*",
            "org.neo4j.server.CommunityEntryPoint",
            f"--home-dir={home}",
            f"--config-dir={home / 'conf'}",
            "--console-mode",
        ]
        return Launch(command, cwd=home, log=home / "server.log", info=info)

    def ready(server_lease: Lease) -> None:
        server = _server(server_lease.info)
        log = home / "server.log"
        try:
            wait_for_answer(server.uri, server.admin_auth, DATABASE, server_lease, log)
        except GraphLoginFailed:  # New data has Neo4j's initial login.
            with (
                neo4j.GraphDatabase.driver(server.uri, auth=_FIRST_LOGIN) as driver,
                driver.session(database="system") as session,
            ):
                session.run(_CHANGE_LOGIN, {"old": _FIRST_LOGIN[1], "new": server_lease.info["password"]}).consume()
            wait_for_answer(server.uri, server.admin_auth, DATABASE, server_lease, log)

    with lease(home / "control", launch, ready) as server_lease:
        yield _server(server_lease.info)


def server_jars() -> Path:
    """Return the directory with the server's jars, fetched by Maven the first time.

    Raises:
        GraphUnavailable: Maven failed. The error contains its last line.
    """
    version = re.search(r"<artifactId>neo4j</artifactId>\s*<version>(.+?)</version>", POM.read_text())
    if version is None:
        raise GraphUnavailable(f"{POM.name} does not state a Neo4j version")
    cache = Path(os.environ.get("PITLAKE_CACHE") or platformdirs.user_cache_path("pitlake"))
    jars = cache / f"neo4j-{version[1]}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "neo4j.lock").open("wb") as file:
        lock(file, wait=True)
        if not jars.exists():
            _fetch(jars)
    return jars


def _fetch(jars: Path) -> None:
    with tempfile.TemporaryDirectory(dir=jars.parent) as work:
        shutil.copy(POM, Path(work) / "pom.xml")
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=lib"]
        try:
            done = subprocess.run(
                ["mvn", "-q", "-B", *goal],
                cwd=work,
                capture_output=True,
                text=True,
                check=False,
                timeout=_MAVEN_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise GraphUnavailable("Maven took too long to fetch Neo4j's jars", "try again") from None
        if done.returncode != 0:
            lines = [line for line in done.stdout.splitlines() if line.startswith("[ERROR]")]
            problem = f"Maven could not fetch Neo4j's jars: {lines[0] if lines else f'exit {done.returncode}'}"
            raise GraphUnavailable(problem, "Maven Central must be reachable the first time")
        (Path(work) / "lib").rename(jars)


def _server(info: dict[str, str]) -> GraphServer:
    login = ("neo4j", info["password"])
    uri = f"bolt://127.0.0.1:{info['bolt_port']}"
    return GraphServer(uri=uri, database=DATABASE, reader_auth=login, admin_auth=login, kind="neo4j")
