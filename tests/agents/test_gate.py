"""The PostToolUse hook: its verdicts match the kernel's for every wrapper, and it never fails open."""

import json
import random
import shutil
import subprocess
import sys
from base64 import b64encode
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitlake.gate import rules
from pitlake.lake.lake import Lake
from pitlake.questions.tickers import Tickers
from tests.agents import messages, mutate
from tests.agents.messages import EARLIER, LATER, MARK, PIT
from tests.agents.mutate import HOOKS, pit_gate
from tests.derived.conftest import put_rows
from tests.test_import_weight import PYTHONS

SOUND = {"data": [{"available_at": PIT, "available_at_source": "neo4j_created"}], "gaps": []}
LATE = {"data": [{"available_at": LATER, "available_at_source": "neo4j_created", "x": MARK}], "gaps": []}
RECEIPT = {"as_of": PIT, "known_by": None, "sql_sha256": "0" * 64, "result_sha256": "f" * 64, "rows": 1}
FETCH = "python3 .claude/skills/earnings-orchestrator/scripts/pit_fetch.py --source yahoo"


def call(response, tool="mcp__pitlake__query", **inputs):
    return {"tool_name": tool, "tool_input": inputs, "tool_response": response}


def ask(message, env, *flags):
    return pit_gate.decide(json.dumps(message).encode(), env, flags)


def code(answer):
    return answer["reason"].split(":")[0] if answer else None


def parts(payload):
    return [{"type": "text", "text": json.dumps(payload)}]


WRAPPERS = {
    "an object": lambda reply: reply,
    "a string": json.dumps,
    "a string in a string": lambda reply: json.dumps(json.dumps(reply)),
    "a text part": parts,
    "a stringified text part": lambda reply: json.dumps(parts(reply)),
    "one record": lambda reply: [reply],
    "one record in a text part": lambda reply: parts([reply]),
    "stdout": lambda reply: {"stdout": json.dumps(reply), "stderr": "", "interrupted": False, "isImage": False},
    "result": lambda reply: {"result": parts(reply)},
    "content": lambda reply: {"content": parts(reply), "isError": False},
    "content and its structure": lambda reply: {"content": parts(reply), "structuredContent": reply},
}


@given(st.integers(), st.sampled_from(sorted(WRAPPERS)), st.sampled_from([PIT, EARLIER, LATER]))
def test_the_gate_judges_any_envelope_in_any_wrapper_as_the_rules_do(tmp_path_factory, seed, wrapper, pit):
    payload = messages.envelope(random.Random(seed))
    if not isinstance(payload, dict) or "data" not in payload:
        return
    env = {"PITLAKE_HOOK_LOG": str(tmp_path_factory.getbasetemp() / "hooks.jsonl")}
    verdict = rules.check_answer(payload, pit)
    assert code(ask(call(WRAPPERS[wrapper](payload), pit=pit), env)) == (verdict and verdict.code)


@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS)
def test_a_block_is_replaced_by_a_clean_gap_that_echoes_nothing(env, wrapper):
    answer = ask(call(wrapper(LATE), pit=PIT), env)
    assert code(answer) == "PIT_VIOLATION_GT_CUTOFF"
    assert MARK not in json.dumps(answer)
    assert messages._bad_block(answer) == []


BAD_RESPONSES = {
    "two text parts": parts(SOUND) * 2,
    "a second part that is prose": [*parts(SOUND), {"type": "text", "text": MARK}],
    "a part with a note": [parts(SOUND)[0] | {"annotations": MARK}],
    "two records": [SOUND, SOUND],
    "no response": None,
    "an empty string": "",
    "prose": MARK,
    "stderr": {"stdout": json.dumps(SOUND), "stderr": MARK},
    "a twin of the structure": {"content": parts(LATE), "structuredContent": SOUND},
    "a string in strings": json.dumps(json.dumps(json.dumps(json.dumps(SOUND)))),
    "a duplicate key": json.dumps(SOUND)[:-1] + ', "data": []}',
    "an extra key": SOUND | {"note": MARK},
    "a note of another's": SOUND | {"receipt": RECEIPT | {"note": f"NOG: read as CIK {MARK}"}},
    "a column that is none": SOUND | {"receipt": RECEIPT | {"hindsight": f"news.{MARK} {MARK}"}},
    "a cursor that is none": SOUND | {"next_cursor": f"{MARK} {MARK}"},
    "a cursor that holds more": SOUND
    | {"next_cursor": b64encode(json.dumps([2, "0" * 32, "f" * 64, MARK], separators=(",", ":")).encode()).decode()},
    "a truncation in words": SOUND | {"truncated": MARK},
    "a cursor with junk": SOUND | {"next_cursor": f"{messages.CURSOR}\u2003{MARK}!"},
    "a number beside it": {"stdout": json.dumps(SOUND), "size": 117154},
    "a name beside it": {"content": parts(SOUND), f"{MARK}": False},
    "a receipt of open mode": SOUND | {"receipt": RECEIPT | {"as_of": None}},
    "a receipt of a later instant": SOUND | {"receipt": RECEIPT | {"as_of": LATER}},
    "a receipt that says more": SOUND | {"receipt": RECEIPT | {"note": MARK}},
    "a receipt that counts versions": SOUND | {"receipt": RECEIPT | {"version": 3}},
    "a receipt known by no instant": SOUND | {"receipt": RECEIPT | {"known_by": MARK}},
    "a receipt whose hash is none": SOUND | {"receipt": RECEIPT | {"sql_sha256": MARK}},
    "great depth": json.dumps(SOUND)[:-1] + ', "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "a forbidden key among names": SOUND | {"gaps": [{MARK: {"daily_return": 1}}]},
}


@pytest.mark.parametrize("response", BAD_RESPONSES.values(), ids=BAD_RESPONSES)
def test_a_response_that_is_not_a_single_envelope_is_blocked(env, response):
    answer = ask(call(response, pit=PIT), env)
    assert code(answer) in rules.CODES
    assert MARK not in json.dumps(answer)


def test_paging_fields_and_receipts_pass(env):
    for known_by in (None, "2026-03-01T14:23:44Z", "2026-03-01T14:23:44.906014Z"):
        receipt = RECEIPT | {"known_by": known_by}
        page = SOUND | {"truncated": True, "next_cursor": messages.CURSOR, "receipt": receipt}
        assert ask(call(parts(page), pit=PIT), env) == {}


def test_a_receipts_notes_about_tickers_pass(env, tmp_path):
    lake = Lake(tmp_path / "lake")
    tickers = [("1", ["META"], 2026), ("2", ["META"], 2020), ("3", ["FB", "BRK-B"], 2020), ("3", ["NEW"], 2026)]
    statements = [
        {"cik": cik.zfill(10), "kind": "ticker", "name": names[0], "all_names": names, "source": "dei",
         "statement": f"{cik}/{year}", "available_at": datetime(year, 1, 1, tzinfo=timezone.utc)}
        for cik, names, year in tickers
    ]  # fmt: skip
    put_rows(lake, "names", *statements)
    existing, notes = Tickers(lake.snapshot()), []
    for ticker in ("META", "brk-b", "FB", "NOBODY", "a b; DROP"):
        for year in (2019, 2022):
            notes += existing.resolve(ticker, datetime(year, 1, 1, tzinfo=timezone.utc)).notes_on(labels=True)
    assert {"hindsight" in note for note in notes} == {True, False}
    for note in (*notes, "; ".join(notes)):
        receipt = RECEIPT | {"note": note, "hindsight": "news.ticker, news.tickers"}
        assert ask(call(parts(SOUND | {"receipt": receipt}), pit=PIT), env) == {}


PLACES = [
    {"pit": PIT}, {"params": {"pit": PIT}}, {"parameters": {"pit": PIT}}, {"params": json.dumps({"pit": PIT})},
    {"command": f"{FETCH} --pit {PIT}"}, {"command": f"{FETCH} --pit={PIT}"}, {"command": f"{FETCH} '--pit' \"{PIT}\""},
]  # fmt: skip


@pytest.mark.parametrize("inputs", PLACES, ids=lambda inputs: json.dumps(inputs)[:40])
def test_the_cut_off_is_found_wherever_a_tool_accepts_a_pit(env, inputs):
    assert ask(call(SOUND, **inputs), env) == {}
    assert code(ask(call(LATE, **inputs), env)) == "PIT_VIOLATION_GT_CUTOFF"


BAD_PITS = [
    {"pit": "2024-05-29"}, {"pit": 5}, {"pit": ""}, {"pit": []}, {"pit": PIT, "params": {"pit": EARLIER}},
    {"params": '{"pit": broken'}, {"command": f"{FETCH} --pit"}, {"command": f"{FETCH} --pit $T"},
    {"command": f"{FETCH} --pit {PIT} --pit {EARLIER}"}, {"command": f"{FETCH} --pit '{PIT}"},
]  # fmt: skip


@pytest.mark.parametrize("inputs", BAD_PITS, ids=lambda inputs: json.dumps(inputs)[-40:])
def test_an_invalid_or_contradictory_cut_off_blocks(env, inputs):
    assert code(ask(call(SOUND, **inputs), env)) == "PIT_INVALID_PIT"


def test_two_spellings_of_the_same_instant_agree(env):
    assert ask(call(SOUND, pit=PIT, params={"pit": "2024-05-29T21:00:00Z"}), env) == {}


def test_without_a_cut_off_everything_passes(env):
    assert ask(call(LATE), env) == ask(call(MARK, pit=None), env) == {}


def test_a_bound_sessions_cut_off_always_applies_and_can_only_be_narrowed(bound):
    assert ask(call(SOUND), bound) == {}
    assert code(ask(call(LATE), bound)) == "PIT_VIOLATION_GT_CUTOFF"
    assert code(ask(call(LATE, pit=LATER), bound)) == "PIT_INVALID_PIT"
    assert code(ask(call(SOUND, pit=EARLIER), bound)) == "PIT_VIOLATION_GT_CUTOFF"


@pytest.mark.parametrize("instant", ["", "2024-05", "now"])
def test_a_session_bound_to_an_invalid_instant_gets_nothing(env, instant):
    assert code(ask(call(SOUND), env | {"PITLAKE_AS_OF": instant})) == "PIT_INVALID_PIT"


@pytest.mark.parametrize("text", [b"", b"[]", b"5", b"{", b'{"tool_name": 5}', b'{"tool_name": "x", "tool_input": []}',
                                  b'{"a": 1, "a": 1}', b"\xff\xfe", b"[" * 100_000, b" " * (9 << 20)])  # fmt: skip
def test_a_malformed_message_is_blocked(env, text):
    answer = pit_gate.decide(text, env)
    assert code(answer) == "PIT_PARSE_ERROR"


def test_a_blocked_commands_output_looks_like_that_of_a_successful_command(bound):
    display = ask(call({"stdout": MARK}, tool="Bash", command=FETCH), bound)["hookSpecificOutput"]["updatedToolOutput"]
    assert display.pop("stdout").startswith('{"data": [], "gaps": ')
    assert display == {"stderr": "", "interrupted": False, "isImage": False}


def test_with_wrapper_only_the_wrappers_shell_commands_are_judged(bound):
    assert ask(call({"stdout": MARK}, tool="Bash", command="ls"), bound, "--wrapper") == {}
    assert code(ask(call({"stdout": MARK}, tool="Bash", command=FETCH), bound, "--wrapper")) == "PIT_INVALID_JSON"


@pytest.mark.parametrize("result", [MARK, "", 5, "5", None, "null", [], {}, "[]", True])
def test_a_result_without_an_envelope_is_blocked_as_a_missing_envelope(bound, result):
    assert code(ask(call({"result": result}), bound)) == "PIT_MISSING_ENVELOPE"
    assert code(ask(call(json.dumps({"result": result})), bound)) == "PIT_MISSING_ENVELOPE"


@pytest.mark.parametrize("kind", ["banana", "config", None, ["no_data"]])
def test_a_gap_of_an_unknown_type_is_blocked(bound, kind):
    assert code(ask(call(SOUND | {"gaps": [{"type": kind, "reason": MARK}]}), bound)) == "PIT_INVALID_ITEM_TYPE"


def test_the_log_has_decisions_without_payloads_and_stays_within_its_size(env, tmp_path, monkeypatch):
    monkeypatch.setattr("pit_call.LOG_BYTES", 2000)
    for _ in range(40):
        ask(call(LATE, pit=PIT) | {"agent_type": "neo4j-news", "session_id": f"{MARK} not a name"}, env)
    text = (tmp_path / "hooks.jsonl.1").read_text() + (tmp_path / "hooks.jsonl").read_text()
    assert MARK not in text
    assert len(text) < 5000
    line = json.loads(text.splitlines()[0])
    assert (line["agent"], line["decision"], line["code"]) == ("neo4j-news", "block", "PIT_VIOLATION_GT_CUTOFF")


def test_a_log_that_cannot_be_written_changes_no_verdict():
    assert ask(call(SOUND, pit=PIT), {"PITLAKE_HOOK_LOG": "/proc/none/hooks.jsonl"}) == {}
    assert code(ask(call(LATE, pit=PIT), {"PITLAKE_HOOK_LOG": "/proc/none/hooks.jsonl"})) == "PIT_VIOLATION_GT_CUTOFF"


OLDEST = min(PYTHONS, key=lambda name: int(name.partition(".")[2] or 99))


@pytest.mark.parametrize("python", sorted({PYTHONS[OLDEST], PYTHONS["this"]}), ids=lambda path: path.rpartition("/")[2])
@pytest.mark.parametrize("script", ["pit_gate.py", "pit_guard.py"])
def test_a_hook_runs_standalone_and_always_exits_with_code_0(env, python, script):
    hook = pit_gate if script == "pit_gate.py" else mutate.pit_guard
    for text in (json.dumps(call(SOUND, pit=PIT)).encode(), json.dumps(call(LATE, pit=PIT)).encode(), b"", b"{" * 5000):
        done = subprocess.run(
            [python, "-IS", str(HOOKS / script)], input=text, env=env, capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert json.loads(done.stdout) in ({}, hook.decide(text, env))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&-", ">/dev/full", ">/dev/full 2>/dev/full"])
@pytest.mark.parametrize("response", [SOUND, LATE], ids=["sound", "late"])
@pytest.mark.parametrize("script", ["pit_gate.py", "pit_guard.py"])
def test_a_hook_that_cannot_answer_blocks_by_its_exit_code(env, script, response, closed):
    command = ["sh", "-c", f'exec "$0" -IS "$1" {closed}', sys.executable, str(HOOKS / script)]
    text = json.dumps(call(response, pit=PIT)).encode()
    done = subprocess.run(command, input=text, env=env, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (b"" if "2>" in closed else b"PIT_PARSE_ERROR: the hook could not write its answer\n")


@pytest.mark.parametrize("script", ["pit_gate.py", "pit_guard.py"])
def test_a_hook_without_any_input_blocks(env, script):
    command = ["sh", "-c", 'exec "$0" -IS "$1" <&-', sys.executable, str(HOOKS / script)]
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    assert (done.returncode, code(json.loads(done.stdout))) == (0, "PIT_PARSE_ERROR")


def test_a_hook_without_the_rules_blocks_everything(tmp_path, env):
    shutil.copytree(HOOKS, tmp_path / ".claude" / "hooks", ignore=shutil.ignore_patterns("__pycache__"))
    for script, key in (("pit_gate.py", "decision"), ("pit_guard.py", "decision")):
        command = [sys.executable, "-IS", str(tmp_path / ".claude" / "hooks" / script)]
        done = subprocess.run(command, input=b"{}", env=env, capture_output=True, check=True)
        assert json.loads(done.stdout)[key] == "block"


@pytest.mark.parametrize("number", range(0, 1500, 500))
def test_mutated_messages_are_never_wrongly_allowed(tmp_path, number):
    for item in range(number, number + 500):
        assert mutate.judge(7, item, str(tmp_path), own_process=item % 250 == 0)[1] == []


def test_an_answer_of_a_tool_without_rows_passes_unchecked(bound):
    described = {"datasets": [{"name": "news", "rows": 3}]}
    assert ask(call(parts(described), tool="mcp__pitlake__describe"), bound) == {}
    assert code(ask(call(parts(described), tool="mcp__pitlake__describe2"), bound)) == "PIT_MISSING_ENVELOPE"
