"""The error tree: its docstring matches the classes, and errors survive the transfer from a worker process."""

import copy
import inspect
import pickle
import re

import pytest

from pitlake import errors

TREE = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.PitlakeError)]


def drawn():
    """Yield (class, parent class) for each line of the tree in the docstring."""
    above = []
    for line in errors.__doc__.splitlines():
        branch = re.match(r"((?:[│├└─ ]{4})*)([A-Z]\w+)  +\S", line)
        if branch:
            depth = len(branch[1]) // 4
            above[depth:] = [branch[2]]
            yield branch[2], above[depth - 1] if depth else "Exception"


def test_the_docstring_draws_the_actual_error_tree():
    assert dict(drawn()) == {kind.__name__: kind.__base__.__name__ for kind in TREE}


def made(kind):
    """Return an error of a class, with a value of the right type for each of its parameters."""
    samples = {"dict": {"a": 1}, "tuple": ("a",), "float": 1.0, "int": 1}
    if kind is errors.LimitExceeded:
        return kind("rows", 10, "ask for less")
    if kind is errors.LakeFault:
        return kind("missing", "tables/news")
    if kind is errors.MachineExhausted:
        return kind("disk", "the lake", "lake", "No space left on device")
    parameters = list(inspect.signature(kind).parameters.values()) if "__init__" in vars(kind) else []
    expected = [parameter for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    shapes = [getattr(parameter.annotation, "__name__", "str") for parameter in expected]
    return kind(*(samples.get(shape, "text") for shape in shapes)) if expected else kind("text")


@pytest.mark.parametrize("kind", TREE, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("way", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy], ids=["pickle", "copy"])
def test_an_error_keeps_its_class_message_and_fields_when_pickled_or_copied(kind, way):
    error = made(kind)
    arrived = way(error)
    assert type(arrived) is kind
    assert str(arrived) == str(error)
    assert vars(arrived) == vars(error)


def test_bad_input_is_one_line_with_the_field_and_the_next_step():
    error = errors.BadInput("as_of", "no such month", "type 2024-02-15T16:00:00-05:00")
    assert str(error) == "as_of: no such month; type 2024-02-15T16:00:00-05:00"
    assert (error.exit_code, errors.LakeNotFound.exit_code) == (2, 1)
