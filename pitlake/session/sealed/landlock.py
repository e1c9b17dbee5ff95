"""Landlock, the kernel's rules of which paths a process may open: its three system calls."""

import ctypes
import os
from collections.abc import Iterable

READ_FILE, READ_DIR = 1 << 2, 1 << 3
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_VERSION, _PATH_BENEATH, _NO_FLAGS = 1, 1, ctypes.c_uint32(0)
_WITH_IOCTL_DEV = 5
_PR_SET_NO_NEW_PRIVS = 38
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def version() -> int:
    """Return the version of the kernel's Landlock. Raises OSError where it has none."""
    return _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))


def restrict(rules: Iterable[tuple[str, int]]) -> None:
    """Allow this thread and those it starts nothing but the rights that are given for a path, permanently.

    Args:
        rules: Paths with rights; those of a directory are the rights below it.

    Raises:
        OSError: if a path does not exist, or the kernel refuses.
    """
    rights = 2 * (IOCTL_DEV if version() >= _WITH_IOCTL_DEV else TRUNCATE) - 1
    handled = ctypes.c_uint64(rights)
    ruleset = _call(_CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(ctypes.sizeof(handled)), _NO_FLAGS)
    try:
        for path, allowed in rules:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                rule = _PathBeneath(allowed, descriptor)
                _call(
                    _ADD_RULE,
                    ctypes.c_int(ruleset),
                    ctypes.c_int(_PATH_BENEATH),
                    ctypes.byref(rule),
                    _NO_FLAGS,
                )
            finally:
                os.close(descriptor)
        if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no_new_privs was refused")
        _call(_RESTRICT_SELF, ctypes.c_int(ruleset), _NO_FLAGS)
    finally:
        os.close(ruleset)


def _call(number: int, *arguments: object) -> int:
    result = int(_libc.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result
