"""The three system calls of Landlock, the kernel's rules for the paths that a process may open."""

import ctypes
import os
import struct
from collections.abc import Iterable

from pitlake.session.sealed import kernel

READ_FILE, READ_DIR = 1 << 2, 1 << 3

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_VERSION, _PATH_BENEATH = 1, 1
_WITH_IOCTL_DEV = 5
_RIGHTS, _RIGHTS_WITH_IOCTL_DEV = (1 << 15) - 1, (1 << 16) - 1  # all up to truncation, and up to ioctl() of devices


def version() -> int:
    """Return the version of the kernel's Landlock. Raises OSError if there is none."""
    return _call(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)


def restrict(rules: Iterable[tuple[str, int]]) -> None:
    """Permanently restrict this thread, and those it starts, to the rights given for each path.

    Args:
        rules: Paths with rights; the rights of a directory apply below it.

    Raises:
        OSError: if a path does not exist, or the kernel refuses.
    """
    handled = struct.pack("=Q", _RIGHTS_WITH_IOCTL_DEV if version() >= _WITH_IOCTL_DEV else _RIGHTS)
    ruleset = _call(_CREATE_RULESET, handled, ctypes.c_size_t(len(handled)), 0)
    try:
        for path, allowed in rules:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                _call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", allowed, descriptor), 0)
            finally:
                os.close(descriptor)
        kernel.gain_no_privileges()
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _call(number: int, *arguments: object) -> int:
    return kernel.call(kernel.libc.syscall, ctypes.c_long(number), *arguments)
