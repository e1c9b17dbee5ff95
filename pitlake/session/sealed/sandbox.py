"""The seal of a session's process, in this order: its own root, no capabilities, rlimits, Landlock, seccomp.

Landlock allows reading only the session's files. seccomp allows the calls that DuckDB needs to read and compute. It
refuses every other call, including future ones: no write, no network, no process, no path. If the system allows it, the
process gets its own root, so that not even stat() finds the lake. The child seals itself on its only thread before it
opens a file, so that every later thread inherits the seal.
"""

import ctypes
import errno
import os
import platform
import resource
import signal
from collections.abc import Iterable
from pathlib import Path

from pitlake.session.sealed import kernel, landlock, seccomp
from pitlake.session.sealed.kernel import call, libc
from pitlake.session.sealed.protocol import FIRST_FILE, file_name
from pitlake.session.sealed.seccomp import Argument, Call

LEAST_LANDLOCK = 3
"""The first version that covers truncation. Later versions add network and signals, which seccomp covers here."""

# These calls are allowed with any argument. None of them takes a path, opens a file, sends a signal or writes to a
# closed file.
_CALLS = (
    "read readv pread64 preadv write writev lseek close fstat "
    "mremap munmap brk madvise membarrier mincore "
    "futex futex_waitv sched_yield sched_getaffinity sched_getparam sched_getscheduler getcpu "
    "rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack set_robust_list rseq restart_syscall "
    "clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time poll ppoll "
    "getpid gettid getuid geteuid getgid getegid getrandom getrusage sysinfo uname exit exit_group"
)

# stat() works for any path in the root (see own_root). Similar calls are refused.
_PATH_CALLS = {"x86_64": ("stat",), "aarch64": ("newfstatat",)}

_UNNAMED = 0x400000  # The bit of O_TMPFILE that O_DIRECTORY lacks; not every system defines the name.
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | _UNNAMED
_THREAD = 0x100 | 0x10000  # CLONE_VM | CLONE_THREAD
_NAMESPACES = 0x7E020000 | 0x80  # every CLONE_NEW*
_PROT_EXEC = 0x4

_CAPABILITIES = 64
_CLONE_NEWUSER, _CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWNET = 0x10000000, 0x20000, 0x08000000, 0x40000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
_MS_LOCKED_DOWN = 2 | 4 | 8  # nosuid, nodev, noexec
_MNT_DETACH = 2
_LINUX_CAPABILITY_VERSION_3 = 0x20080522


class Unsealable(Exception):
    """The system lacks something that the seal needs. The parent turns this into IsolationUnavailable."""


def lacking() -> str:
    """Return what this system lacks for sealed sessions; empty if it lacks nothing."""
    if platform.system() != "Linux":
        return f"Landlock and seccomp are Linux's, this is {platform.system()}"
    if platform.machine() not in seccomp.NUMBERS:
        return f"the list of allowed calls is written for {' and '.join(seccomp.NUMBERS)}, not {platform.machine()}"
    try:
        version = landlock.version()
    except OSError as problem:
        return f"the kernel has no Landlock ({os.strerror(problem.errno or 0)})"
    if version < LEAST_LANDLOCK:
        return f"the kernel's Landlock is version {version}, {LEAST_LANDLOCK} is needed (Linux 6.2)"
    return ""


def die_with(parent: int) -> None:
    """Make the kernel kill this process when its parent ends."""
    call(libc.prctl, kernel.PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def separate() -> bool:
    """Create namespaces for mounts, network and IPC, with an empty root at /tmp. Return False if not permitted.

    The zygote does this once, on its only thread. The namespaces are invisible to other processes.
    """
    flags = _CLONE_NEWNS | _CLONE_NEWNET | _CLONE_NEWIPC
    if os.geteuid() != 0:
        flags |= _CLONE_NEWUSER
    user, group = os.geteuid(), os.getegid()
    try:
        call(libc.unshare, flags)
        if flags & _CLONE_NEWUSER:
            _write("/proc/self/setgroups", "deny")
            _write("/proc/self/uid_map", f"{user} {user} 1")
            _write("/proc/self/gid_map", f"{group} {group} 1")
        _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
        _mount("tmpfs", "/tmp", "tmpfs", _MS_LOCKED_DOWN, "size=64k,mode=755")  # noqa: S108  a mount point, not a file
        os.makedirs("/tmp/proc/self/fd")  # noqa: S108, PTH103
    except OSError:
        return False
    return True


def own_root() -> bool:
    """Make the empty tree at /tmp the root, with only this process's descriptors. Return False if not permitted."""
    try:
        call(libc.unshare, _CLONE_NEWNS)
        _mount("/proc/self/fd", "/tmp/proc/self/fd", None, _MS_BIND)  # noqa: S108
        os.chdir("/tmp")  # noqa: S108
        call(libc.pivot_root, b".", b".")
        call(libc.umount2, b".", _MNT_DETACH)
        os.chdir("/")
        _mount(None, "/", None, _MS_REMOUNT | _MS_RDONLY | _MS_LOCKED_DOWN)
    except OSError:
        return False
    return True


def cover(covered: Iterable[Path], read_only: Iterable[Path]) -> None:
    """Permanently give this process its own mounts, in which some places are empty and others read-only.

    The process and its children then have no capabilities and can't regain them, because the mounts are locked together
    in their namespace. Raises OSError if the system permits no user namespaces.
    """
    user, group = os.geteuid(), os.getegid()
    call(libc.unshare, _CLONE_NEWUSER | _CLONE_NEWNS)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    for place in read_only:
        _mount(str(place), str(place), None, _MS_BIND | _MS_REC)
        _mount(None, str(place), None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY)
    for place in covered:
        if place.is_dir():
            _mount("tmpfs", str(place), "tmpfs", _MS_RDONLY | _MS_LOCKED_DOWN, "size=4k,mode=555")
        else:
            _mount("/dev/null", str(place), None, _MS_BIND)
    kernel.gain_no_privileges()
    for capability in range(_CAPABILITIES):
        libc.prctl(kernel.PR_CAPBSET_DROP, capability, 0, 0, 0)
    drop_capabilities()


def drop_capabilities() -> None:
    """Give up root's capabilities, if there are any."""
    header = (ctypes.c_uint32 * 2)(_LINUX_CAPABILITY_VERSION_3, 0)
    none = (ctypes.c_uint32 * 6)()
    call(libc.capset, header, none)


def limit(memory: int, files: int) -> None:
    """Set rlimits: address space, no file growth, no core dump, and no more open files than the session has."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptors = FIRST_FILE + 3 * files + 256
    if hard != resource.RLIM_INFINITY and FIRST_FILE + 2 * files + 16 > hard:
        raise Unsealable(f"{files} files need more open files than the {hard} this system allows; compact the lake")
    bound = descriptors if hard == resource.RLIM_INFINITY else min(descriptors, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (bound, bound))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    memory = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))


def read_only_these(files: int, readable: Iterable[str] = ()) -> None:
    """Use Landlock so that only the session's files and `readable` can be opened, and only for reading."""
    rules = [(file_name(index), landlock.READ_FILE) for index in range(files)]
    for path in readable:
        if os.path.isdir(path):  # noqa: PTH112  pathlib is not worth its import here
            rules.append((path, landlock.READ_FILE | landlock.READ_DIR))
        elif os.path.exists(path):  # noqa: PTH110
            rules.append((path, landlock.READ_FILE))
    landlock.restrict(rules)


def allow_only_calls() -> None:
    """Use seccomp to allow only _CALLS, opening to read, threads and non-executable memory. The rest gives EPERM."""
    machine = platform.machine()
    always = [Call(name) for name in (*_CALLS.split(), *_PATH_CALLS[machine])]
    seccomp.load(seccomp.program(machine, [*always, *_conditional(os.getpid())]))


def _conditional(process: int) -> list[Call]:
    return [
        Call("open", (Argument(1, 0, mask=_WRITING),)),
        Call("openat", (Argument(2, 0, mask=_WRITING),)),
        Call("mmap", (Argument(2, 0, mask=_PROT_EXEC),)),
        Call("mprotect", (Argument(2, 0, mask=_PROT_EXEC),)),
        Call("clone", (Argument(0, _THREAD, mask=_THREAD | _NAMESPACES),)),
        Call("prlimit64", (Argument(0, 0), Argument(2, 0))),
        Call("tgkill", (Argument(0, process),)),
        # glibc falls back to clone. The error "not a link" prevents DuckDB from finding the lake's paths by
        # descriptors.
        Call("clone3", error=errno.ENOSYS),
        Call("readlink", error=errno.EINVAL),
        Call("readlinkat", error=errno.EINVAL),
    ]


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    encoded = [text.encode() if text is not None else None for text in (source, target, kind)]
    call(libc.mount, *encoded, ctypes.c_ulong(flags), data.encode())


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:  # noqa: PTH123
        file.write(text)
