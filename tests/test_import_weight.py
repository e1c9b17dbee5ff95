"""The public names, and the gate's rules, which run on Python 3.9 or later without dependencies or slow imports."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pitlake
from pitlake.gate import rules
from tests.every import every

ROOT = Path(pitlake.__file__).parents[1]
OLDEST = (3, 9)
HEAVY = {
    "asyncio", "click", "dagster", "deltalake", "duckdb", "neo4j", "numpy", "pandas", "pyarrow", "pydantic", "requests",
    "rich",
}  # fmt: skip

PIT = "2024-02-15T16:00:00-05:00"
ITEM = {"available_at": PIT, "available_at_source": "edgar_accepted"}
CALLS = [
    *({"data": [ITEM | {"raw": text}], "gaps": []} for text in (
        "plain", '{"daily_stock": 1}', '{"dаily_ﬆock": 1}', '{"a": ' + "1" * 5000 + ', "daily_macro": 1}', "[" * 10_000,
        "[" * 190 + "]" * 190, '{"daily\\u005fstock": 1,}', '{"a": {"daily_stock": 1}, "a": 2}', "\ufeff[]",
    )),
    *({"data": [ITEM | {"available_at": text}]} for text in (
        "2024-02-15T16:00:00.000001-05:00", "2024-02-15", "2024-02-15T16:00:00", "9999-12-31T23:59:59-23:59", "",
        "2024-02-15T21:00:00.000000000Z", "2024-02-30T00:00:00Z", "２024-02-15T16:00:00Z",
    )),
    {"data": {}}, {"data": [5]}, {"data": [{"seßion_stock": 1}]}, [],
]  # fmt: skip

PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
from pitlake.gate import rules
calls = json.load(sys.stdin)
print(json.dumps({
    "version": list(sys.version_info[:2]),
    "modules": sorted(sys.modules),
    "verdicts": [rules.check_text(json.dumps(call), sys.argv[2]) for call in calls],
}))
"""


def pythons():
    """Yield the version and path of every available interpreter: on PATH, in pyenv's folder, and this one."""
    places = [*map(Path, os.get_exec_path()), *Path.home().glob(".pyenv/versions/*/bin")]
    for place in places:
        for result in place.glob("python3.*") if place.is_dir() else ():
            version = re.fullmatch(r"python(3)\.(\d+)", result.name)
            if version and (3, int(version[2])) >= OLDEST and "shims" not in result.parts:
                yield f"3.{version[2]}", str(result)
    yield "this", sys.executable


def run(python, *flags):
    """Return the verdicts of the rules in an isolated interpreter. The flag -S excludes site-packages."""
    command = [python, "-IB", *flags, "-c", PROGRAM, str(ROOT), PIT]
    outcome = subprocess.run(command, input=json.dumps(CALLS), capture_output=True, text=True, check=True, timeout=240)
    return json.loads(outcome.stdout)


PYTHONS = dict(pythons())


@pytest.mark.parametrize("python", PYTHONS.values(), ids=PYTHONS)
def test_the_gate_rules_need_no_packages_and_agree_in_every_python(python):
    answer = run(python, "-S")
    assert tuple(answer["version"]) >= OLDEST
    expected = [rules.check_text(json.dumps(call), PIT) for call in CALLS]
    assert answer["verdicts"] == [verdict and list(verdict) for verdict in expected]
    assert len({verdict and verdict.code for verdict in expected}) > 6


def test_importing_the_rules_loads_no_heavy_module():
    modules = run(sys.executable)["modules"]
    assert not HEAVY & {name.partition(".")[0] for name in modules}
    assert [name for name in modules if name.startswith("pitlake")] == ["pitlake", "pitlake.gate", "pitlake.gate.rules"]


def test_the_rules_file_works_as_a_standalone_copy(tmp_path):
    copy = shutil.copy(rules.__file__, tmp_path / "gate_rules.py")
    program = "import gate_rules; print(gate_rules.check_text('{}', '2024-02-15').code)"
    environment = {"PYTHONPATH": str(Path(copy).parent), "PATH": os.environ["PATH"]}
    outcome = subprocess.run(
        [sys.executable, "-S", "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=240
    )
    assert outcome.stdout == "PIT_INVALID_PIT\n"


def test_pitlake_exports_exactly_its_public_names():
    assert pitlake.__all__ == [
        "Lake",
        "PitlakeError",
        "connect",
        "cut_off",
        "mount",
        "panel",
        "parse_instant",
        "sealed",
        "study",
        "walk",
    ]
    assert dir(pitlake) == sorted(pitlake.__all__)
    assert every(getattr(pitlake, name).__module__.startswith("pitlake.") for name in pitlake.__all__)


def test_a_name_that_is_not_public_raises_attribute_error():
    with pytest.raises(AttributeError, match="session_secret"):
        _ = pitlake.session_secret
