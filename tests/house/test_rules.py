"""The rules of `make check`: each reports its fault in a faulty text, and nothing in a sound text."""

import pytest

from scripts.check_rules import FILE_LINES, FUNCTION_LINES, all_faults, budget_faults, size_faults, wording_faults

FAULTY = {
    size_faults: ["x = 1\n" * (FILE_LINES + 1), "def f():\n" + "    x = 1\n" * FUNCTION_LINES],
    all_faults: ["assert all(x for x in xs)", "assert a and all(xs)"],
    wording_faults: ["This is no date.", "if it befell", "<<<<<<< HEAD"],
}
SOUND = {
    size_faults: ["x = 1\n" * FILE_LINES, "def f():\n" + "    x = 1\n" * (FUNCTION_LINES - 1)],
    all_faults: ["assert every(xs)", "assert not all(xs)", "ready = all(xs)"],
    wording_faults: ["This is not a date.", "There is no date.", 'Gap(reason="is no date")'],
}


@pytest.mark.parametrize(("check", "text"), [(check, text) for check, texts in FAULTY.items() for text in texts])
def test_a_fault_is_reported_with_its_line(check, text):
    (fault,) = check(text)
    assert fault.partition(":")[0].isdigit()


@pytest.mark.parametrize(("check", "text"), [(check, text) for check, texts in SOUND.items() for text in texts])
def test_sound_text_passes(check, text):
    assert list(check(text)) == []


@pytest.mark.parametrize(
    ("limit", "advice"), [(99, "take lines away"), (100, None), (105, None), (110, "lower it")], ids=str
)
def test_a_folder_outside_its_line_budget_is_reported(tmp_path, limit, advice):
    (tmp_path / "forge" / "desk").mkdir(parents=True)
    (tmp_path / "forge" / "desk" / "shown.py").write_text("x = 1\n" * 100)
    faults = list(budget_faults(tmp_path, {"forge": limit}))
    assert [advice in fault for fault in faults] == ([True] if advice else [])
