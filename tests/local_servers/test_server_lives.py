"""A local server runs while any process uses it, is shared by all users of its directory, and keeps its data."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import neo4j
import psutil
import pytest

from local_servers import embedded, lease
from local_servers.embedded import embedded_graph
from pitlake.errors import BadInput, GraphUnavailable
from resources.graph.graph import Graph
from sample.graph_admin import GraphAdmin
from tests.graph_servers import rows
from tests.processes import running, wait_for_end

HOLDER = """
import sys
from local_servers.embedded import embedded_graph
with embedded_graph(sys.argv[1]) as server:
    print(server.uri, flush=True)
    sys.stdin.read()
"""


def servers_over(root: Path) -> list[psutil.Process]:
    processes = psutil.process_iter(["name", "cwd"])
    return running(
        process for process in processes if (process.info["name"], process.info["cwd"]) == ("java", str(root))
    )


def hold(root: Path) -> subprocess.Popen:
    """Start another process that opens the server and prints the address once it is up."""
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", HOLDER, str(root)], stdin=pipe, stdout=pipe, text=True)


@pytest.fixture
def holder(tmp_path):
    with hold(tmp_path) as process:
        process.uri = process.stdout.readline().strip()
        yield process
        process.stdin.close()


def read_one(server):
    with Graph(server.uri, server.reader_auth) as graph:
        return [each for (each,) in rows(graph, "MATCH (a:A) RETURN a.id AS id")]


def test_the_last_user_stops_the_server_and_its_data_can_be_reopened(tmp_path):
    with embedded_graph(tmp_path) as server, GraphAdmin(server) as admin:
        admin.create_schema({"A": "id"})
        admin.write("CREATE (:A {id: 'kept'})")
        assert len(servers_over(tmp_path)) == 1
    assert servers_over(tmp_path) == []
    with embedded_graph(tmp_path) as again:
        assert read_one(again) == ["kept"]
        assert again.reader_auth != server.reader_auth
        assert again.admin_auth != server.admin_auth


def test_a_second_user_shares_the_server_and_outlives_the_first(tmp_path, holder):
    with embedded_graph(tmp_path) as server:
        assert server.uri == holder.uri
        holder.kill()
        holder.wait()
        with Graph(server.uri, server.reader_auth) as graph:
            assert len(rows(graph, "RETURN 1 AS one")) == 1
        assert len(servers_over(tmp_path)) == 1
    assert servers_over(tmp_path) == []


@pytest.mark.long
def test_users_that_come_at_once_share_one_server(tmp_path):
    users = [hold(tmp_path) for _ in range(4)]
    addresses = {user.stdout.readline() for user in users}
    result = servers_over(tmp_path)
    for user in users:
        user.communicate("")
    assert len(addresses) == 1
    assert len(result) == 1
    assert servers_over(tmp_path) == []


@pytest.mark.long
def test_the_server_does_not_outlive_a_killed_user(tmp_path, holder):
    servers = servers_over(tmp_path)
    assert len(servers) == 1
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    wait_for_end(servers)


def test_the_server_does_not_outlive_a_killed_supervisor(tmp_path, holder):
    (server,) = servers_over(tmp_path)
    server.parent().kill()
    wait_for_end([server])
    with embedded_graph(tmp_path) as again:
        assert again.uri != holder.uri


@pytest.mark.long
def test_a_forked_child_does_not_keep_the_server_alive(tmp_path):
    with embedded_graph(tmp_path):
        release, wait = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(wait)
            os.read(release, 1)
            os._exit(0)
    result = servers_over(tmp_path)
    os.close(wait)
    os.waitpid(child, 0)
    assert result == []


@pytest.mark.long
def test_a_killed_server_is_unavailable_and_can_be_started_again(tmp_path):
    with embedded_graph(tmp_path) as server:
        with GraphAdmin(server) as admin:
            admin.create_schema({"A": "id"})
            admin.write("CREATE (:A {id: 'committed'})")
        with Graph(server.uri, server.reader_auth, retry_seconds=0) as graph:
            (process,) = servers_over(tmp_path)
            supervisor = process.parent()
            process.kill()
            wait_for_end([process, supervisor])  # until then, other processes still get the address of the dead server
            with pytest.raises(GraphUnavailable):
                rows(graph, "RETURN 1 AS one")
        with embedded_graph(tmp_path) as again:
            assert read_one(again) == ["committed"]


def test_no_password_is_on_a_command_line_or_in_a_file(tmp_path):
    with embedded_graph(tmp_path) as server:
        passwords = [server.reader_auth[1].encode(), server.admin_auth[1].encode()]
        (process,) = servers_over(tmp_path)
        display = [" ".join(process.cmdline() + process.parent().cmdline()).encode()]
        display += [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not [text for text in display for password in passwords if password in text]
    assert (tmp_path.stat().st_mode & 0o077, (tmp_path / "control").stat().st_mode & 0o077) == (0, 0)


def test_the_server_listens_only_on_loopback(tmp_path):
    with embedded_graph(tmp_path) as server:
        (process,) = servers_over(tmp_path)
        listening = {c.laddr.ip for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    assert server.uri.startswith("bolt://127.0.0.1:")
    assert listening <= {"127.0.0.1", "::ffff:127.0.0.1"}


@pytest.mark.long
def test_a_directory_with_a_long_path_works(tmp_path):
    root = tmp_path / ("deep" * 30)
    with embedded_graph(root), embedded_graph(root) as server:
        assert server.uri


def test_the_error_of_a_server_that_fails_to_start_names_its_log(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "_JVM_OPTIONS", ("--no-such-option",))
    with pytest.raises(GraphUnavailable, match=r"ended while it started; see .*server\.log"), embedded_graph(tmp_path):
        pass


def test_a_directory_held_by_a_server_that_does_not_answer_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(lease, "_PATIENCE_SECONDS", 0.01)
    with embedded_graph(tmp_path):
        (tmp_path / "control" / "control.sock").unlink()
        with pytest.raises(GraphUnavailable, match="runs but does not answer"):
            lease.lease(tmp_path / "control", lambda: lease.Launch([], tmp_path, tmp_path / "log", {}), lambda _: None)


def test_without_the_package_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(BadInput, match=r"pip install 'pitlake\[embedded-graph\]', or set NEO4J_URI"):
        embedded_graph(tmp_path).__enter__()


def test_the_reader_can_read_every_database_but_not_write(tmp_path):
    with embedded_graph(tmp_path) as server:
        other = server.with_database("other")
        with GraphAdmin(other) as admin:
            admin.create_database()
        with Graph(other.uri, other.reader_auth, other.database) as graph:
            assert len(rows(graph, "RETURN 1 AS one")) == 1
        with (
            neo4j.GraphDatabase.driver(server.uri, auth=server.reader_auth) as driver,
            driver.session(database="other") as session,
            pytest.raises(neo4j.exceptions.Forbidden),
        ):
            session.run("CREATE (n:A)").consume()
