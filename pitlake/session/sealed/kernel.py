"""Kernel calls through the C library. They raise an error if the kernel refuses."""

import ctypes
import os
from collections.abc import Callable

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 22, 24, 38

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def call(function: Callable[..., int], *arguments: object) -> int:
    """Return the result of a function of the C library. Raises OSError if it is negative."""
    result = function(*arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def gain_no_privileges() -> None:
    """Renounce privileges that running a program could give. Landlock and seccomp require this."""
    call(libc.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
