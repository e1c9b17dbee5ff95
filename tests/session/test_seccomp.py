"""The system call filter decides every call like its list, on both architectures."""

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitlake.session.sealed import sandbox, seccomp

PROCESS = 4_711
LISTED = [*(seccomp.Call(name) for name in sandbox._CALLS.split()), *sandbox._conditional(PROCESS)]
# The numbers on x86_64 and aarch64, or - if an architecture lacks the call.
FORBIDDEN = """
socket 41 198, connect 42 203, bind 49 200, sendto 44 206, sendmsg 46 211, recvfrom 45 207, socketpair 53 199,
execve 59 221, execveat 322 281, fork 57 -, vfork 58 -, ptrace 101 117, process_vm_readv 310 270,
process_vm_writev 311 271, memfd_create 319 279, memfd_secret 447 447, io_uring_setup 425 425, bpf 321 280,
unshare 272 97, setns 308 268, mount 165 40, pivot_root 155 41, openat2 437 437, open_by_handle_at 304 265, kill 62 129,
tkill 200 130, pidfd_open 434 434, pidfd_getfd 438 438, pidfd_send_signal 424 424, creat 85 -, truncate 76 45,
ftruncate 77 46, unlinkat 263 35, renameat2 316 276, mkdirat 258 34, fchmod 91 52, fchown 93 55, utimensat 280 88,
userfaultfd 323 282, keyctl 250 219, perf_event_open 298 241, seccomp 317 277, prctl 157 167, personality 135 92,
setuid 105 146, capset 126 91, fcntl 72 25, ioctl 16 29, dup 32 23, dup3 292 24, pwrite64 18 68, pwritev 296 70,
sendfile 40 71, copy_file_range 326 285, splice 275 76, statx 332 291, access 21 -, faccessat 269 48, getdents64 217 61,
chdir 80 49, chroot 161 51, shmget 29 194, shmat 30 196, msgget 68 186, mq_open 240 180
"""
# The architectures under which kernels run 32-bit calls, and the bit that marks an x86_64 call as an x32 call.
COMPATIBLE = {"x86_64": 0x40000003, "aarch64": 0x40000028}
X32 = 0x40000000
ARGUMENTS = st.integers(0, 2**64 - 1) | st.integers(0, 2**24) | st.sampled_from([0, 1, PROCESS, 0x10100, 1 << 32])


def verdict(instructions, data):
    """Run a filter like the kernel, and return its verdict."""
    accumulator, place = 0, 0
    while True:
        code, if_true, if_false, operand = instructions[place]
        place += 1
        if code == 0x20:
            accumulator = int.from_bytes(data[operand : operand + 4], "little")
        elif code == 0x54:
            accumulator &= operand
        elif code == 0x15:
            place += if_true if accumulator == operand else if_false
        else:
            assert code == 0x06
            return "allowed" if operand == 0x7FFF0000 else operand - 0x50000


def as_data(architecture, number, arguments):
    words = number.to_bytes(4, "little") + architecture.to_bytes(4, "little") + bytes(8)
    return words + b"".join(argument.to_bytes(8, "little") for argument in arguments)


def as_listed(machine, number, arguments):
    for call in LISTED:
        if seccomp.NUMBERS[machine].get(call.name) == number:
            masks = [2**64 - 1 if condition.mask is None else condition.mask for condition in call.conditions]
            holds = all(
                arguments[condition.position] & mask == condition.value
                for condition, mask in zip(call.conditions, masks, strict=True)
            )
            return (call.error or "allowed") if holds else errno.EPERM
    return errno.EPERM


def test_each_call_of_the_list_has_a_number():
    assert {call.name for call in LISTED} <= {*seccomp.NUMBERS["x86_64"], *seccomp.NUMBERS["aarch64"]}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@given(number=st.integers(0, 460) | st.integers(0, 2**32 - 1), arguments=st.tuples(*[ARGUMENTS] * 6))
def test_the_filter_allows_exactly_the_listed_calls(machine, number, arguments):
    filter_of_calls = seccomp.program(machine, LISTED)
    own, other = (seccomp._ARCHITECTURE[name] for name in (machine, *(set(seccomp.NUMBERS) - {machine})))
    assert verdict(filter_of_calls, as_data(own, number, arguments)) == as_listed(machine, number, arguments)
    assert verdict(filter_of_calls, as_data(other, number, arguments)) == errno.EPERM


@pytest.mark.parametrize(("machine", "column"), [("x86_64", 1), ("aarch64", 2)])
def test_a_forbidden_call_is_refused_with_any_arguments(machine, column):
    filter_of_calls = seccomp.program(machine, LISTED)
    for call in FORBIDDEN.split(","):
        number = call.split()[column]
        for value in (0, 1, 2**64 - 1) if number != "-" else ():
            data = as_data(seccomp._ARCHITECTURE[machine], int(number), [value] * 6)
            assert verdict(filter_of_calls, data) == errno.EPERM, call


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_an_allowed_number_is_refused_as_a_32_bit_or_x32_call(machine):
    filter_of_calls = seccomp.program(machine, LISTED)
    for name in sandbox._CALLS.split():
        number = seccomp.NUMBERS[machine].get(name)
        if number is not None:
            own = seccomp._ARCHITECTURE[machine]
            assert verdict(filter_of_calls, as_data(own, number, [0] * 6)) == "allowed"
            assert verdict(filter_of_calls, as_data(own, number | X32, [0] * 6)) == errno.EPERM
            assert verdict(filter_of_calls, as_data(COMPATIBLE[machine], number, [0] * 6)) == errno.EPERM
