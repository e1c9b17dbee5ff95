"""Native code in a session's process can read only the files of the session."""

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from pitlake.errors import IsolationUnavailable, SessionLost
from pitlake.session.sealed import launcher, process, sandbox, zygote
from pitlake.session.sealed.protocol import FILES_PER_FRAME
from tests.session.inmate import DONE
from tests.session.toylake import T, row

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def imprison(lake):
    own = lake.add("charts", [row("a", T), row("b", T)])
    other = lake.add("charts", [row("c", T + timedelta(days=90))])

    def run(*ways):
        start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.modules['numpy'] = None"  # like the zygote
        program = f"{start}; from tests.session.inmate import main; main(*sys.argv[1:])"
        reply = subprocess.run(
            [
                sys.executable,
                "-I",
                "-W",
                "ignore",
                "-c",
                program,
                own.path,
                other.path,
                str(Path(own.path).parent),
                *ways,
            ],
            stdout=subprocess.PIPE,
            check=True,
            timeout=60,
            env={"JE_ARROW_MALLOC_CONF": "background_thread:false"},
        )
        return json.loads(reply.stdout)

    return run


def done(reply):
    return {name for name, outcome in reply.items() if outcome == DONE}


WAYS = [["root"], [], ["nobody", "root"], ["nobody"]] if os.geteuid() == 0 else [["root"], []]


@pytest.mark.parametrize("ways", WAYS, ids=" ".join)
def test_a_sealed_process_can_read_its_file_and_do_nothing_else(lake, imprison, ways):
    before = {path: path.read_bytes() for path in lake.root.rglob("*") if path.is_file()}
    reply = imprison(*ways)
    # Without a separate root, stat() still reveals that a path exists; nothing else does.
    assert done(reply) - (set() if reply["own_root"] else {"stat another file"}) == {"read its own file"}
    assert reply["own_root"] == ("root" in ways and launcher.separated())
    assert reply["query its own file"] == 2
    assert {path: path.read_bytes() for path in lake.root.rglob("*") if path.is_file()} == before


# Attempts that some systems refuse to every process, so that a refusal proves nothing about the seal.
REFUSED_BY_SOME_SYSTEMS = {
    "become another user", "bpf", "change the root", "io_uring", "make an unnamed file", "make an x32 call",
    "mount", "own namespaces",
    "read another's files", "read another's memory", "trace",
}  # fmt: skip
BY_PATH = {
    "exec", "list a directory", "make a directory", "make a file", "make an unnamed file", "read a library",
    "read another file", "read another's files", "read its environment", "read the memory map",
    "read through the root link", "remove a file", "rename a file", "run a program", "start a thread",
    "write another file",
}  # fmt: skip
# Single layers or pairs, and the attempts that these must stop without the other layers.
STOPPED = {
    ("own root",): BY_PATH | {"change directory", "look for a file", "stat another file", "stat as Python does",
                              "statx another file"},
    ("capabilities",): {"become another user", "bpf", "change the root", "mount", "read another's memory", "trace"},
    ("limits",): {"use more memory than allowed"},
    ("capabilities", "limits"): {"longer files", "more memory"},
    ("landlock",): BY_PATH | {"list the root", "open its own file for both", "truncate its own file",
                              "write its own file"},
}  # fmt: skip
# seccomp allows files to be opened for reading, allows stat(), and does not count memory. It stops all other attempts.
LET_BY_SECCOMP = {
    "read a library", "read another file", "read another's files", "read its environment",
    "read its own file", "read the memory map", "read through the root link", "start a thread", "stat another file",
    "use more memory than allowed",
}  # fmt: skip


def test_without_the_seal_every_attempt_succeeds(imprison):
    reply = imprison("only")
    refused = {name: outcome for name, outcome in reply.items() if outcome != DONE}
    assert refused.keys() <= REFUSED_BY_SOME_SYSTEMS
    by_the_system = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOSPC, errno.EISDIR}
    assert by_the_system.issuperset(refused.values())


@pytest.mark.parametrize("layers", STOPPED, ids=" and ".join)
def test_each_seal_layer_alone_stops_the_attempts_it_covers(imprison, layers):
    if "own root" in layers and not launcher.separated():
        pytest.skip("this system allows no own root")
    assert done(imprison("only", *layers)).isdisjoint(STOPPED[layers])


def test_seccomp_alone_stops_all_but_reading(imprison):
    outcomes = imprison("only", "seccomp")
    assert done(outcomes) == LET_BY_SECCOMP
    # These errors come from the filter: a kernel without x32 returns a different error.
    assert {outcomes.get("make an x32 call"), outcomes.get("make a 32-bit call", errno.EPERM)} == {errno.EPERM}


def test_the_lake_is_not_mounted_in_a_session_process_with_its_own_root(ask):
    session = ask()
    assert session._backend.own_root == launcher.separated()
    if launcher.separated():
        mounts = Path(f"/proc/{session._backend.pid}/mountinfo").read_text(encoding="ascii")
        assert [line.split()[4] for line in mounts.splitlines()] == ["/", "/proc/self/fd"]


def test_sessions_have_their_own_root_wherever_the_system_allows_mounts():
    own = ["unshare", "--mount", "--net", "--ipc", *(["--map-root-user"] if os.geteuid() else [])]
    mount = ["mount", "-t", "tmpfs", "tmpfs", "/tmp"]  # in a private mount namespace, which ends with the process
    if shutil.which("unshare") is None or subprocess.run([*own, *mount], check=False, capture_output=True).returncode:
        pytest.skip("this system allows no own mounts")
    assert launcher.separated()


def test_a_session_sees_its_files_only_by_descriptor_numbers(lake, ask):
    lake.add("charts", [row("secret-name", T)])
    lake.add("charts", [row("b", T - timedelta(days=90))])
    session = ask(datasets=["charts"])
    result_rows = session.sql("SELECT sql FROM duckdb_views() UNION ALL SELECT value FROM duckdb_settings()").rows()
    assert str(lake.root) not in str(result_rows)
    assert "part-" not in str(result_rows)
    files = session.sql(
        "SELECT DISTINCT filename FROM read_parquet(['/proc/self/fd/300', '/proc/self/fd/301'], filename=true)"
    )
    assert sorted(files.rows()) == [("/proc/self/fd/300",), ("/proc/self/fd/301",)]


def test_descriptors_are_sent_in_as_few_messages_as_possible():
    frames = []
    channel = SimpleNamespace(send_files=lambda descriptors, numbers, deadline: frames.append(list(numbers)))
    with Path(os.devnull).open() as file, process._Parcel(channel) as parcel:
        for _ in range(FILES_PER_FRAME + 2):
            parcel.add(file.fileno())
    assert frames == [[*range(FILES_PER_FRAME)], [FILES_PER_FRAME, FILES_PER_FRAME + 1]]


def test_a_zygote_that_ended_is_replaced_before_the_next_session(monkeypatch):
    closed = []
    ended, new = (
        SimpleNamespace(ready=True, alive=alive, separated=alive, wait=list, close=partial(closed.append, alive))
        for alive in (False, True)
    )
    monkeypatch.setattr(launcher, "_zygote", ended)
    monkeypatch.setattr(launcher, "Zygote", lambda: new)
    assert launcher.separated()
    assert launcher._zygote is new
    assert closed == [False]


def test_a_zygote_that_ends_while_it_forks_is_replaced_and_the_session_opens(monkeypatch):
    def end(_):
        raise SessionLost("the process that forks sessions ended; try again")

    ending, new = (SimpleNamespace(ready=True, alive=True, wait=list, close=list, fork=fork) for fork in (end, sorted))
    monkeypatch.setattr(launcher, "_zygote", ending)
    monkeypatch.setattr(launcher, "Zygote", lambda: new)
    assert launcher.fork({"charts"}) == ["charts"]


def test_a_zygote_that_cannot_start_says_why(monkeypatch, ask):
    monkeypatch.setattr(launcher, "_zygote", None)
    monkeypatch.setattr(launcher, "_program", lambda *_: "raise ImportError('no such library')")
    with pytest.raises(IsolationUnavailable, match="no such library"):
        ask()


def test_a_zygote_with_a_second_thread_exits():
    end = threading.Event()
    second = threading.Thread(target=end.wait)
    second.start()
    try:
        with pytest.raises(SystemExit, match="a second thread exists"):
            zygote.Prepared()
    finally:
        end.set()
        second.join()


def test_a_session_is_refused_if_the_system_allows_too_few_open_files(tmp_path):
    program = f"""
import resource, sys
sys.path.insert(0, {str(ROOT)!r})
from tests.session.toylake import CATALOGUE, T, ToyLake, row
from pitlake.errors import IsolationUnavailable
from tests.sessions import open_at
from pitlake.session.visible.cut_cache import CutCache
from pathlib import Path
resource.setrlimit(resource.RLIMIT_NOFILE, (310, 310))
lake = ToyLake(Path({str(tmp_path / "lake")!r}))
lake.add("charts", [row("a", T)])
try:
    open_at(lake.snapshot, T, catalogue=CATALOGUE, cut_cache=CutCache(Path({str(tmp_path / "cuts")!r})))
except IsolationUnavailable as problem:
    print(problem)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "need more open files than the 310 this system allows; compact the lake" in done.stdout


def test_a_failure_to_drop_capabilities_is_an_error(monkeypatch):
    monkeypatch.setattr(sandbox, "_LINUX_CAPABILITY_VERSION_3", 0)  # a header that no kernel knows
    with pytest.raises(OSError, match=os.strerror(errno.EINVAL)):
        sandbox.drop_capabilities()


@pytest.mark.parametrize(
    ("missing", "reply"),
    [("system", "this is Darwin"), ("machine", "not riscv64"), ("landlock", "no Landlock"), ("old", "version 2")],
)
def test_the_error_on_a_system_without_seal_support_names_the_alternative(monkeypatch, ask, missing, reply):
    def no_landlock():
        raise OSError(errno.ENOSYS, "no")

    if missing == "system":
        monkeypatch.setattr(sandbox.platform, "system", lambda: "Darwin")
    elif missing == "machine":
        monkeypatch.setattr(sandbox.platform, "machine", lambda: "riscv64")
    else:
        monkeypatch.setattr(sandbox.landlock, "version", no_landlock if missing == "landlock" else lambda: 2)
    monkeypatch.setattr(launcher, "_zygote", None)
    with pytest.raises(IsolationUnavailable, match=reply) as caught:
        ask()
    assert 'isolation="in_process"' in str(caught.value)
    assert "no wall around" in str(caught.value)
