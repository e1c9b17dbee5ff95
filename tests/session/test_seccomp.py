"""The filter of system calls says of any call what its list says, on both architectures."""

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitlake.session.sealed import sandbox, seccomp

PROCESS = 4_711
LISTED = [
    *(seccomp.Call(name) for name in sandbox._CALLS.split()),
    *sandbox._conditional(PROCESS),
]
ARGUMENTS = st.integers(0, 2**64 - 1) | st.integers(0, 2**24) | st.sampled_from([0, 1, PROCESS, 0x10100, 1 << 32])


def verdict(instructions, data):
    """Run a filter as the kernel does."""
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
def test_a_call_is_allowed_as_the_list_says(machine, number, arguments):
    filter_of_calls = seccomp.program(machine, LISTED)
    own, other = (seccomp._ARCHITECTURE[name] for name in (machine, *(set(seccomp.NUMBERS) - {machine})))
    assert verdict(filter_of_calls, as_data(own, number, arguments)) == as_listed(machine, number, arguments)
    assert verdict(filter_of_calls, as_data(other, number, arguments)) == errno.EPERM
