"""Tries what native code might do, in a process sealed like a session's with one file, and prints the results.

Arguments: the session's file, another file, a directory, and any of "root" (use a separate root if the system allows
it) and "nobody" (drop root privileges first). With "only", just the named LAYERS seal the process, anew for each
attempt, and changes to the files are undone.
"""
# The attempts use the bare system calls.
# ruff: noqa: PTH101, PTH102, PTH104, PTH108, PTH115, PTH116, PTH208

import ctypes
import json
import mmap
import os
import platform
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pitlake.session.sealed import child, sandbox
from pitlake.session.sealed.protocol import FIRST_FILE, file_name
from pitlake.session.sql import engine

DONE = "done"
PAGE = mmap.mmap(-1, mmap.PAGESIZE)
GETPID = 39  # on x86_64
CODE_OF_32_BITS = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
CODE_OF_32_BITS.write(b"\xb8\x14\0\0\0\xcd\x80\xc3")  # mov eax, 20 (getpid); int 0x80; ret


LAYERS: dict[str, Callable[[], object]] = {
    "own root": lambda: sandbox.separate() and sandbox.own_root(),
    "capabilities": sandbox.drop_capabilities,
    "limits": lambda: sandbox.limit(2 << 30, 1),
    "landlock": lambda: sandbox.read_only_these(1),
    "seccomp": sandbox.allow_only_calls,
}


def attempts(other: str, directory: str, stranger: int) -> dict[str, Callable[[], object]]:
    own = file_name(0)
    libc = ctypes.CDLL(None, use_errno=True)
    address = ctypes.addressof(ctypes.c_char.from_buffer(PAGE))
    one_byte, item, none = (ctypes.c_uint64 * 2)(address, 1), ctypes.c_ulong(1), ctypes.c_ulong(0)
    array_map = (ctypes.c_uint32 * 32)(2, 4, 4, 1)  # type, size of key and value, entries

    def called(result: int) -> int:
        if result < 0:
            raise OSError(ctypes.get_errno(), "refused")
        return result

    return {
        "read its own file": lambda: os.read(os.open(own, os.O_RDONLY), 4),
        "read another file": lambda: os.open(other, os.O_RDONLY),
        "read through the root link": lambda: os.open(f"/proc/self/root{other}", os.O_RDONLY),
        "read another's files": lambda: os.open(f"/proc/{stranger}/fd/0", os.O_RDONLY),
        "read its environment": lambda: os.open("/proc/self/environ", os.O_RDONLY),
        "read the memory map": lambda: os.open("/proc/self/maps", os.O_RDONLY),
        "read a library": lambda: os.open(os.__file__, os.O_RDONLY),
        "write its own file": lambda: os.open(own, os.O_WRONLY),
        "truncate its own file": lambda: os.truncate(own, 0),
        "open its own file for both": lambda: os.open(own, os.O_RDWR),
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
        "fork": lambda: os.fork() or os._exit(0),
        "run a program": lambda: subprocess.run(["/bin/true"], check=True),
        "exec": lambda: os.execv("/bin/true", ["true"]),
        "signal another": lambda: os.kill(stranger, 0),
        "signal another's thread": lambda: called(libc.tgkill(stranger, stranger, 0)),
        "read another's limits": lambda: resource.prlimit(stranger, resource.RLIMIT_CORE),
        "set another's limits": lambda: resource.prlimit(stranger, resource.RLIMIT_CORE, (0, 0)),
        "trace": lambda: called(libc.ptrace(0x4206, stranger, 0, 0)),
        "read another's memory": lambda: called(libc.process_vm_readv(stranger, one_byte, item, one_byte, item, none)),
        "own namespaces": lambda: called(libc.unshare(0x10000000)),
        "mount": lambda: called(libc.mount(b"tmpfs", b"/", b"tmpfs", 0, None)),
        "change the root": lambda: os.chroot("/"),
        "change directory": lambda: os.chdir(directory),
        "become another user": lambda: os.setuid(65534),
        "io_uring": lambda: called(libc.syscall(425, 8, ctypes.create_string_buffer(256))),
        "make an x32 call": lambda: called(libc.syscall(0x40000000 | GETPID)),
        **({"make a 32-bit call": lambda: called_by_machine_code(CODE_OF_32_BITS)} if runs_32_bit_calls() else {}),
        "make memory executable": lambda: called(libc.mprotect(ctypes.c_void_p(address), mmap.PAGESIZE, 7)),
        "map executable memory": lambda: mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_EXEC),
        "bpf": lambda: called(libc.syscall(321, 0, array_map, ctypes.sizeof(array_map))),
        "more memory": lambda: resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, -1)),
        "longer files": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30)),
        "use more memory than allowed": lambda: len(mmap.mmap(-1, 4 << 30)),
        "start a thread": lambda: in_a_thread(lambda: os.open(other, os.O_RDONLY)),
    }


def runs_32_bit_calls() -> bool:
    """Return whether the kernel supports 32-bit calls; otherwise such a call kills the process."""
    if platform.machine() != "x86_64":
        return False
    if (pid := os.fork()) == 0:
        called_by_machine_code(CODE_OF_32_BITS)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def called_by_machine_code(code: mmap.mmap) -> int:
    """Return the result of machine code that makes a system call."""
    result: int = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
    if result < 0:
        raise OSError(-result, "refused")
    return result


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
    keep_mounts_to_itself()
    connection = engine.connect()
    descriptor = os.open(own, os.O_RDONLY)
    os.dup2(descriptor, FIRST_FILE)
    os.close(descriptor)
    if "nobody" in ways:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # keep /proc accessible, as in a process that never was root
    stranger = os.fork() or wait_for_the_end()
    tries = attempts(other, directory, stranger)
    if "only" in ways:
        paths = [Path(own), Path(other)]
        layers = [LAYERS[name] for name in ways if name in LAYERS]
        reply: dict[str, object] = {name: alone(attempt, layers, paths) for name, attempt in tries.items()}
    else:
        reply = sealed(tries, connection, separated="root" in ways and sandbox.separate())
    os.write(1, json.dumps(reply).encode())
    os._exit(0)


def keep_mounts_to_itself() -> None:
    """Make mounts private; otherwise a successful attempt would cover the machine's root."""
    libc, own_mounts, below_the_root, private = ctypes.CDLL(None), 0x20000, 0x4000, 1 << 18
    if libc.unshare(own_mounts) == 0:
        libc.mount(b"none", b"/", None, below_the_root | private, None)


def wait_for_the_end() -> int:
    """Wait until the parent ends, as a target for other processes."""
    sandbox.die_with(os.getppid())
    os.close(1)
    while True:
        signal.pause()


def alone(attempt: Callable[[], object], layers: list[Callable[[], object]], files: list[Path]) -> object:
    """Return the result of one attempt under these layers; the files are restored afterwards."""
    before = [path.read_bytes() for path in files]
    there = set(files[-1].parent.iterdir())
    if (pid := os.fork()) == 0:
        code = 255
        try:
            for layer in layers:
                layer()
            attempt()
            code = 0
        except OSError as error:
            code = error.errno or code
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    for path in set(files[-1].parent.iterdir()) - there:
        path.rmdir() if path.is_dir() else path.unlink()
    for path, content in zip(files, before, strict=True):
        path.write_bytes(content)
    return DONE if code == 0 else code


def sealed(tries: dict[str, Callable[[], object]], connection: Any, *, separated: bool) -> dict[str, object]:
    """Return the results of all attempts in this process, sealed like a session's, and of a final query."""
    reply: dict[str, object] = {"own_root": child._seal(2 << 30, 1, separated)}
    for name, attempt in tries.items():
        try:
            attempt()
            reply[name] = DONE
        except OSError as error:
            reply[name] = error.errno
        except Exception as error:  # noqa: BLE001  any error means that it was stopped
            reply[name] = type(error).__name__
    engine.allot(connection, threads=2, memory=1 << 30)
    reply["query its own file"] = connection.sql(f"SELECT count(*) FROM read_parquet('{file_name(0)}')").fetchall()[0][
        0
    ]
    return reply


if __name__ == "__main__":
    main(*sys.argv[1:])
