"""Runs in a process sealed as a session's is, with one file, and tries what native code might; prints what came of it.

Arguments: the session's file, another file, a directory, and any of "root" (have a root of its own, where the system
allows it) and "nobody" (give up being root before).
"""
# The bare calls are what is tried.
# ruff: noqa: PTH101, PTH102, PTH104, PTH108, PTH115, PTH116, PTH208

import ctypes
import json
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

from pitlake.session import child, engine, sandbox
from pitlake.session.protocol import FIRST_FILE, file_name

DONE = "done"


def attempts(other: str, directory: str) -> dict[str, Callable[[], object]]:
    own, parent = file_name(0), os.getppid()
    libc = ctypes.CDLL(None, use_errno=True)

    def called(result: int) -> int:
        if result < 0:
            raise OSError(ctypes.get_errno(), "refused")
        return result

    return {
        "read its own file": lambda: os.read(os.open(own, os.O_RDONLY), 4),
        "read another file": lambda: os.open(other, os.O_RDONLY),
        "read through the root link": lambda: os.open(f"/proc/self/root{other}", os.O_RDONLY),
        "read the parent's files": lambda: os.open(f"/proc/{parent}/fd/0", os.O_RDONLY),
        "read its environment": lambda: os.open("/proc/self/environ", os.O_RDONLY),
        "read the memory map": lambda: os.open("/proc/self/maps", os.O_RDONLY),
        "read a library": lambda: os.open(os.__file__, os.O_RDONLY),
        "write its own file": lambda: os.open(own, os.O_WRONLY),
        "truncate its own file": lambda: os.truncate(own, 0),
        "open its own file for both": lambda: os.open(own, os.O_RDWR),
        "write the descriptor": lambda: os.write(FIRST_FILE, b"x"),
        "write another file": lambda: os.open(other, os.O_WRONLY | os.O_TRUNC),
        "make a file": lambda: os.open(f"{directory}/new", os.O_WRONLY | os.O_CREAT),
        "make an unnamed file": lambda: os.open(directory, os.O_WRONLY | os.O_TMPFILE),
        "make a memory file": lambda: os.memfd_create("x"),
        "make a directory": lambda: os.mkdir(f"{directory}/new"),
        "remove a file": lambda: os.unlink(other),
        "rename a file": lambda: os.rename(other, other + "2"),
        "change a mode": lambda: os.chmod(own, 0o777),
        "change times": lambda: os.utime(own, (0, 0)),
        "list a directory": lambda: os.listdir(directory),
        "list the root": lambda: os.listdir("/"),
        "resolve a link": lambda: os.readlink(own),
        "look for a file": lambda: called(libc.access(other.encode(), 0)),
        "stat as Python does": lambda: os.stat(other),
        "statx another file": lambda: called(
            libc.statx(-100, other.encode(), 0, 0xFFF, ctypes.create_string_buffer(256))
        ),
        "stat another file": lambda: called(libc.syscall(4, other.encode(), ctypes.create_string_buffer(256))),
        "make an internet socket": lambda: socket.socket(socket.AF_INET),
        "make a socket": lambda: socket.socket(socket.AF_UNIX),
        "make a socket pair": socket.socketpair,
        "fork": os.fork,
        "run a program": lambda: subprocess.run(["/bin/true"], check=True),
        "exec": lambda: os.execv("/bin/true", ["true"]),
        "kill the parent": lambda: os.kill(parent, 0),
        "trace": lambda: called(libc.ptrace(16, parent, 0, 0)),
        "read another's memory": lambda: called(libc.syscall(310, parent, 0, 0, 0, 0, 0)),
        "own namespaces": lambda: called(libc.unshare(0x10000000)),
        "mount": lambda: called(libc.mount(b"tmpfs", b"/", b"tmpfs", 0, None)),
        "change the root": lambda: os.chroot("/"),
        "change directory": lambda: os.chdir(directory),
        "become another user": lambda: os.setuid(65534),
        "io_uring": lambda: called(libc.syscall(425, 8, ctypes.create_string_buffer(256))),
        "executable memory": lambda: called(libc.mprotect(ctypes.c_void_p(0x1000), 4096, 7)),
        "bpf": lambda: called(libc.syscall(321, 0, 0, 0)),
        "more memory": lambda: resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, -1)),
        "longer files": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30)),
        "use more memory than allowed": lambda: len(bytearray(4 << 30)),
        "start a thread": lambda: in_a_thread(lambda: os.open(other, os.O_RDONLY)),
    }


def in_a_thread(work: Callable[[], object]) -> object:
    outcome: list[object] = []

    def run() -> None:
        try:
            outcome.append(work())
        except OSError as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(outcome[0], OSError):
        raise outcome[0]
    return outcome[0]


def main(own: str, other: str, directory: str, *ways: str) -> None:
    sandbox.load_libraries()
    connection = engine.connect({})
    descriptor = os.open(own, os.O_RDONLY)
    os.dup2(descriptor, FIRST_FILE)
    os.close(descriptor)
    if "nobody" in ways:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # one's /proc stays one's own, as it is for who never was root
    separated = "root" in ways and sandbox.separate()
    tries = attempts(other, directory)
    told: dict[str, object] = {"own_root": child._seal(2 << 30, 1, separated)}
    for name, attempt in tries.items():
        try:
            attempt()
            told[name] = DONE
        except OSError as error:
            told[name] = error.errno
        except Exception as error:  # noqa: BLE001  whatever stopped it stopped it
            told[name] = type(error).__name__
    engine.allot(connection, threads=2, memory=1 << 30)
    told["query its own file"] = connection.sql(f"SELECT count(*) FROM read_parquet('{file_name(0)}')").fetchall()[0][0]
    os.write(1, json.dumps(told).encode())
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
