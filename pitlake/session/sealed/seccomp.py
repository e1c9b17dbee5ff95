"""Programs in classic BPF for seccomp, the kernel's filter of system calls.

A filter allows the calls that it names, some of them only with certain arguments. All other calls, known or future,
fail with EPERM.
"""

import ctypes
import errno
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from pitlake.session.sealed import kernel

# The numbers of the calls that a filter may name, on x86_64 and aarch64; - if an architecture lacks the call.
_TABLE = """
read 0 63, readv 19 65, pread64 17 67, preadv 295 69, write 1 64, writev 20 66, lseek 8 62, close 3 57, fstat 5 80,
mmap 9 222, mprotect 10 226, mremap 25 216, munmap 11 215, brk 12 214, madvise 28 233, membarrier 324 283,
mincore 27 232, futex 202 98, futex_waitv 449 449, sched_yield 24 124, sched_getaffinity 204 123,
sched_getparam 143 121, sched_getscheduler 145 120, getcpu 309 168, rt_sigaction 13 134, rt_sigprocmask 14 135,
rt_sigreturn 15 139, sigaltstack 131 132, set_robust_list 273 99, rseq 334 293, restart_syscall 219 128,
clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115, nanosleep 35 101, gettimeofday 96 169,
time 201 -, poll 7 -, ppoll 271 73, getpid 39 172, gettid 186 178, getuid 102 174, geteuid 107 175, getgid 104 176,
getegid 108 177, getrandom 318 278, getrusage 98 165, sysinfo 99 179, uname 63 160, exit 60 93, exit_group 231 94,
stat 4 -, newfstatat 262 79, open 2 -, openat 257 56, clone 56 220, clone3 435 435, prlimit64 302 261, tgkill 234 131,
readlink 89 -, readlinkat 267 78
"""
_ROWS = [entry.split() for entry in _TABLE.split(",")]
NUMBERS = {
    machine: {row[0]: int(row[column]) for row in _ROWS if row[column] != "-"}
    for column, machine in enumerate(("x86_64", "aarch64"), 1)
}

_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_LOAD, _JUMP_IF_EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06  # of 32-bit words
_AT_NUMBER, _AT_ARCHITECTURE, _AT_ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_REFUSE = (_RETURN, 0, 0, _ERROR | errno.EPERM)
_MODE_FILTER = 2

_Instruction = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Argument:
    """A condition: the argument at a position, masked, is equal to a value. Without a mask all 64 bits count."""

    position: int
    value: int
    mask: int | None = None

    def instructions(self) -> list[tuple[int, int]]:
        """Return code and operand of each instruction. If a comparison fails, the call is refused."""
        low = _AT_ARGUMENTS + 8 * self.position
        if self.mask is not None:
            return [(_LOAD, low), (_AND, self.mask), (_JUMP_IF_EQUAL, self.value)]
        halves = ((low, self.value & 0xFFFFFFFF), (low + 4, self.value >> 32))
        return [step for offset, half in halves for step in ((_LOAD, offset), (_JUMP_IF_EQUAL, half))]


@dataclass(frozen=True, slots=True)
class Call:
    """A call and its treatment by the filter: allow it under conditions on its arguments, or return an error."""

    name: str
    conditions: tuple[Argument, ...] = ()
    error: int = 0


def program(machine: str, calls: Iterable[Call]) -> list[_Instruction]:
    """Return the filter's instructions, without calls that the architecture lacks."""
    instructions = [(_LOAD, 0, 0, _AT_ARCHITECTURE), (_JUMP_IF_EQUAL, 1, 0, _ARCHITECTURE[machine]), _REFUSE]
    instructions.append((_LOAD, 0, 0, _AT_NUMBER))
    for call in calls:
        number = NUMBERS[machine].get(call.name)
        if number is not None:
            body = _body(call)
            instructions += [(_JUMP_IF_EQUAL, 0, len(body), number), *body]
    return [*instructions, _REFUSE]


def _body(call: Call) -> list[_Instruction]:
    steps = [step for condition in call.conditions for step in condition.instructions()]
    answer = (_RETURN, 0, 0, _ERROR | call.error if call.error else _ALLOW)
    if not steps:
        return [answer]
    # A comparison that fails skips the steps after it and the answer.
    rest = range(len(steps), 0, -1)
    checks = [
        (code, 0, skipped if code == _JUMP_IF_EQUAL else 0, operand)
        for skipped, (code, operand) in zip(rest, steps, strict=True)
    ]
    return [*checks, answer, _REFUSE]


def load(instructions: list[_Instruction]) -> None:
    """Permanently apply a filter to this thread and those it starts. Raises OSError if the kernel refuses it."""
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions))
    kernel.gain_no_privileges()
    length_and_address = struct.pack("@HP", len(instructions), ctypes.addressof(code))
    kernel.call(kernel.libc.prctl, kernel.PR_SET_SECCOMP, _MODE_FILTER, length_and_address)
