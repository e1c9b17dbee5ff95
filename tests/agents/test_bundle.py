"""Merging envelopes of several lanes, and the wrapper for outside sources: nothing is lost, invented or leaked."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitlake.gate import rules
from tests.agents.harness import CLAUDE, SCRIPTS
from tests.agents.messages import EARLIER, LATER, MARK, PIT

sys.path[:0] = [str(CLAUDE / "skills" / "earnings-bundle" / "scripts"), str(SCRIPTS)]

import merge_envelopes  # noqa: E402
import pit_fetch  # noqa: E402

MERGE = CLAUDE / "skills" / "earnings-bundle" / "scripts" / "merge_envelopes.py"
merge = merge_envelopes.merge


def item(evidence="neo4j:News:1", at=PIT, **more):
    return {"available_at": at, "available_at_source": "neo4j_created", "evidence": evidence} | more


def lane(*items, gaps=()):
    return {"data": list(items), "gaps": list(gaps)}


def test_a_revision_in_two_lanes_is_merged_with_the_fields_of_both():
    reply = merge({"news": lane(item(title="x")), "wire": lane(item(at="2024-05-29T21:00:00Z", url="y"))}, PIT)
    assert [(each["lanes"], each["title"], each["url"]) for each in reply["data"]] == [(["news", "wire"], "x", "y")]


def test_other_revisions_and_contradicting_items_are_not_merged():
    reply = merge({"a": lane(item(title="x"), item(at=EARLIER, title="w")), "b": lane(item(title="other"))}, PIT)
    assert sorted(each["title"] for each in reply["data"]) == ["other", "w", "x"]
    assert reply["data"][-1]["title"] == "w"


def test_items_without_evidence_are_merged_only_if_equal():
    plain = {"available_at": PIT, "available_at_source": "neo4j_created"}
    reply = merge({"a": lane(plain | {"x": 1}, plain | {"x": 2}), "b": lane(plain | {"x": 1})}, PIT)
    assert [(each["x"], each["lanes"]) for each in reply["data"]] == [(1, ["a", "b"]), (2, ["a"])]


def test_every_gap_is_merged_with_the_name_of_its_lane():
    gap = {"type": "no_data", "reason": "nothing was filed"}
    reply = merge({"a": lane(gaps=[gap, gap]), "b": lane(gaps=[gap]), "c": None, "d": "prose"}, PIT)
    assert [(gap["lane"], gap["type"]) for gap in reply["gaps"]] == [
        ("a", "no_data"), ("b", "no_data"), ("c", "no_data"), ("d", "unverifiable"),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["banana", "config", "internal_error", "invalid_pit", None, ["no_data"]])
@pytest.mark.parametrize("pit", [PIT, None])
def test_a_lane_with_a_gap_of_an_unknown_type_is_left_out(pit, kind):
    reply = merge({"odd": lane(item(), gaps=[{"type": kind, "reason": "x"}]), "sound": lane(item())}, pit)
    assert [each["lanes"] for each in reply["data"]] == [["sound"]]
    assert [(gap["lane"], gap["type"]) for gap in reply["gaps"]] == [("odd", "pit_excluded" if pit else "unverifiable")]


@pytest.mark.parametrize(
    "answer", [lane(item(at=LATER, x=MARK)), {"data": [item()], "note": MARK}, {"gaps": []}, [], {}]
)
def test_an_invalid_lane_is_left_out_whole_and_named_in_a_gap(answer):
    reply = merge({"late": answer, "sound": lane(item())}, PIT)
    assert [each["lanes"] for each in reply["data"]] == [["sound"]]
    assert [gap["lane"] for gap in reply["gaps"]] == ["late"]
    assert MARK not in json.dumps(reply)


LANES = st.dictionaries(
    st.sampled_from("abcd"),
    st.builds(
        lambda items: lane(*items),
        st.lists(
            st.builds(item, st.sampled_from(["n:1", "n:2", ""]), st.sampled_from([PIT, EARLIER]), x=st.integers(0, 2))
        ),
    ),
)


@given(LANES, st.randoms())
def test_the_order_of_lanes_does_not_change_a_valid_merge(lanes, random):
    names = list(lanes)
    random.shuffle(names)
    reply = merge(lanes, PIT)
    assert merge({name: lanes[name] for name in names}, PIT) == reply
    assert rules.check_answer(reply, PIT) is None
    inputs = {(each["evidence"], each["x"]) for answer in lanes.values() for each in answer["data"]}
    assert {(each["evidence"], each["x"]) for each in reply["data"]} == inputs


def test_the_merge_command_cuts_off_at_a_bound_sessions_instant(tmp_path, env, bound):
    (tmp_path / "answers.json").write_text(json.dumps({"a": lane(item(at=LATER, x=MARK)), "b": lane(item())}))
    command = [sys.executable, str(MERGE), str(tmp_path / "answers.json")]
    whole = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert len(json.loads(whole.stdout)["data"]) == 2
    cut = subprocess.run(command, env=bound, capture_output=True, text=True, check=True)
    assert MARK not in cut.stdout
    wider = subprocess.run([*command, "--pit", LATER], env=bound, capture_output=True, text=True, check=False)
    assert (wider.returncode, wider.stdout) == (2, "")


def fetched(monkeypatch, reply, code=0):
    """Replace the wrapper's command by one with this output, and return the list that receives its arguments."""
    question = []

    def run(command, **_):
        question.extend(command[command.index("fetch") + 1 :])
        return subprocess.CompletedProcess(command, code, stdout=reply)

    monkeypatch.setattr(pit_fetch.subprocess, "run", run)
    return question


SOUND = json.dumps(lane(item())).encode()


def test_pit_fetch_passes_on_a_valid_envelope(monkeypatch, env):
    question = fetched(monkeypatch, SOUND)
    assert pit_fetch.answer(["--source", "yahoo", "--pit", PIT], env) == lane(item())
    assert question == ["--source", "yahoo", "--pit", PIT]


def test_pit_fetch_adds_a_bound_sessions_cut_off_and_refuses_a_later_cut_off(monkeypatch, bound):
    question = fetched(monkeypatch, SOUND)
    assert pit_fetch.answer(["--source", "yahoo"], bound)["data"]
    assert question == ["--source", "yahoo", "--pit", PIT]
    for late in (["--pit", LATER], [f"--pit={LATER}"], ["--pit", PIT, f"--pit={LATER}"], ["--pit"]):
        refused = pit_fetch.answer(late, bound)
        assert refused["data"] == []
        assert "PIT_INVALID_PIT" in refused["gaps"][0]["reason"]


@pytest.mark.parametrize("inputs", [[], ["--known-by", LATER], [f"--known-by={LATER}"]], ids=["none", "later", "glued"])
def test_pit_fetch_appends_a_bound_sessions_known_by_after_other_arguments(monkeypatch, env, inputs):
    question = fetched(monkeypatch, SOUND)
    pit_fetch.answer(["--source", "yahoo", "--pit", PIT, *inputs], {**env, "PITLAKE_KNOWN_BY": EARLIER})
    assert question[-2:] == ["--known-by", EARLIER]


@pytest.mark.parametrize(
    ("reply", "code", "kind"),
    [
        (json.dumps(lane(item(at=LATER, x=MARK))).encode(), 0, "pit_excluded"),
        (json.dumps(lane() | {"note": MARK}).encode(), 0, "upstream_error"),
        (json.dumps(lane(gaps=[{"type": "banana", "reason": MARK}])).encode(), 0, "pit_excluded"),
        (MARK.encode(), 0, "upstream_error"), (b"", 0, "upstream_error"), (SOUND, 1, "upstream_error"),
    ],
)  # fmt: skip
def test_pit_fetch_shows_nothing_of_an_invalid_envelope(monkeypatch, env, reply, code, kind):
    fetched(monkeypatch, reply, code)
    display = pit_fetch.answer(["--pit", PIT], env)
    assert (display["data"], [gap["type"] for gap in display["gaps"]]) == ([], [kind])
    assert MARK not in json.dumps(display)


def test_computed_items_are_ordered_by_their_newest_input():
    def computed(number, at):
        return {"n": number, "computed": True, "newest_input_at": at}

    lanes = {"news": {"data": [computed(1, EARLIER), computed(2, PIT)], "gaps": []}}
    assert [item["n"] for item in merge(lanes, PIT)["data"]] == [2, 1]
