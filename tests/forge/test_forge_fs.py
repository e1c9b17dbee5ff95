"""ForgeFS: paths, listings, the archive, and the view of a turn."""

import os
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forge.core import config
from forge.core.clock import Simulated
from forge.core.errors import NotThere, PathRefused, RecordUnreadable, Stale
from forge.fs import ForgeFS, paths
from forge.memory import Memory
from forge.records import KINDS, parse
from pitlake.errors import BadInput
from tests.forge.world import NEW_EXPRESSION, NEW_VIEW, T0, desk, now, turn, wrote


def names(fs, path, query=None):
    return [entry.name for entry in fs.list_dir(path, query)]


def test_f1_the_root_and_memory_folders_match_the_design(memory):
    fs = turn(memory)
    assert names(fs, "/") == ["memory/", "skills/", "portfolio/", "session/"]
    assert names(fs, "/memory/") == [
        "calibration/", "counterfactuals/", "expressions/", "linkages/", "observations/", "outcomes/", "pk/",
        "proposals/", "settlements/", "views/",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [
        "/memory/../etc/passwd", "/memory/./views/V-001.md", "/memory//views", "memory/views", "/etc/passwd", "",
        "/Memory/views/V-001.md", "/memory/views/V-001.md\x00", "/memory/views/Ｖ-001.md", "/memory/views/\u202eV.md",
        "/memory/views/V-001.md/../../x", "/memory/views/%2e%2e", "/memory\\views", "/session/.hidden", "//memory/",
        "/memory/.archive/../views/V-001.md", "/session/" + "a" * 300, "/sessions/sess_1.md", "/approvals/A-001.md",
        "/session/a/b/c/d/e/f/g/h/i.md", "/memory/views/V-001.md ", "/memory/views/new.md\n", "~/x", None, 5, b"/",
    ],
)  # fmt: skip
def test_f1_an_invalid_path_is_refused_by_every_operation(memory, path):
    fs = turn(memory)
    question = (fs.read_file, fs.list_dir, fs.exists, fs.is_dir, lambda each: fs.write_file(each, "x", call_id="1"))
    for ask in question:
        with pytest.raises(PathRefused):
            ask(path)
    assert memory.journal.rows() == []


@given(st.text(max_size=40) | st.builds("/memory/{}".format, st.text(max_size=20)))
@settings(max_examples=300, deadline=None)
def test_f1_an_accepted_path_is_normalized_and_ascii(path):
    try:
        taken = paths.check_path(path)
    except PathRefused:
        return
    assert taken == os.path.normpath(taken) + ("/" if taken.endswith("/") and taken != "/" else "")
    assert taken.isascii()


def test_t1_a_record_path_without_its_md_suffix_does_not_exist(memory):
    fs = desk(memory)
    assert not fs.is_dir("/memory/views/V-001")
    assert fs.is_dir("/memory/views")
    with pytest.raises(NotThere, match="nothing is at"):
        fs.read_file("/memory/views/V-001")
    assert fs.read_lines("/memory/views/V-001.md", 1, 2) == "# V-001\nscope: us_growth"


SKILL = "---\nname: rv-analysis\ndescription: How.\n---\n\nhow"


def test_f1_the_skills_folder_is_read_only_and_exposes_nothing_outside(memory, tmp_path):
    skill = tmp_path / "skills" / "rv-analysis"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL)
    (tmp_path / "secret.md").write_text("secret")
    (skill / "link.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "skills" / "up").symlink_to(tmp_path)
    fs = ForgeFS(memory, memory.hydrate(now()), skills=tmp_path / "skills")
    assert fs.read_file("/skills/rv-analysis/SKILL.md") == SKILL
    for path in ("/skills/rv-analysis/link.md", "/skills/up/secret.md", "/skills/rv-analysis/skill.md"):
        with pytest.raises(NotThere):
            fs.read_file(path)
    for actor in ("agent", "pm", "code"):
        with pytest.raises(PathRefused):
            ForgeFS(memory, memory.hydrate(now()), actor=actor).write_file("/skills/x.md", "x", call_id="1")


def test_f1_earlier_versions_are_in_a_read_only_archive(memory):
    fs = desk(memory)
    old = fs.read_file("/memory/views/V-001.md")
    wrote(fs, "/memory/views/V-001.md", replace(NEW_VIEW, id="V-001", confidence=0.7), "up")
    (entry,) = fs.list_dir("/memory/.archive/views/")
    assert fs.read_file(f"/memory/.archive/views/{entry.name}") == old
    with pytest.raises(PathRefused):
        fs.write_file(f"/memory/.archive/views/{entry.name}", old, call_id="x")


def test_f2_ids_increase_and_are_never_assigned_twice(memory):
    item, other = turn(memory, "one"), turn(memory, "other")
    given_ = [wrote(fs, "/memory/views/new.md", NEW_VIEW, str(n)) for n in range(3) for fs in (item, other)]
    assert given_ == [f"/memory/views/V-{n:03d}.md" for n in range(1, 7)]
    with pytest.raises(PathRefused, match=r"write to /memory/views/new.md"):
        wrote(item, "/memory/views/V-100.md", replace(NEW_VIEW, id="V-100"), "x")
    with pytest.raises(RecordUnreadable, match="the title is V-002, but the path is V-001"):
        wrote(item, "/memory/views/V-001.md", replace(NEW_VIEW, id="V-002"), "y")


@pytest.mark.parametrize(
    ("query", "result"),
    [
        (None, 2), ("", 2), ("growth", 2), ("GROWTH slows", 2), ("banana", 0), ("status:active", 1),
        ("STATUS:active", None), ("status:Active", 1), ("confidence>=0.6", 1), ("confidence<=0.6", 2),
        ("since:2014-05", 2), ("since:2014-05-02", 0), ("since:2014-13", None), ("since:soon", None), (">=0.4", None),
        ("colour:red", None), ("confidence>=high", None), ("confidence>=nan", None), ("status:", None),
        ('scope:"us growth"', 1), ('"us growth"', 1), ('scope:"us', None), ("id:V-001", 1), ("x" * 600, None),
    ],
)  # fmt: skip
def test_f3_queries_filter_listings_and_bad_queries_are_refused(tmp_path, query, result):
    memory = Memory(tmp_path / "forge", clock=Simulated("query", T0))
    fs = turn(memory)
    wrote(fs, "/memory/views/new.md", NEW_VIEW, "1")
    wrote(fs, "/memory/views/new.md", replace(NEW_VIEW, scope="us growth", status="draft", confidence=0.2), "2")
    if result is None:
        with pytest.raises(BadInput, match=r"query|since"):
            fs.list_dir("/memory/views/", query)
    else:
        assert len(fs.list_dir("/memory/views/", query)) == result


def test_f3_an_unknown_query_key_is_refused_and_the_error_lists_the_valid_keys(memory):
    with pytest.raises(BadInput, match=r"colour.*the fields are id, scope, category, confidence.*since"):
        turn(memory).list_dir("/memory/views/", "colour:red")


def test_f3_lessons_are_found_by_their_skill(memory):
    fs = turn(memory)
    lesson = KINDS["pk"].cls(id="new", skill=("rv-analysis", "event-analysis"), category="rates", weight=0.5)
    wrote(fs, "/memory/pk/new.md", lesson, "1")
    assert names(fs, "/memory/pk/", "skill:event-analysis weight>=0.4") == ["PK-001.md"]
    assert names(fs, "/memory/pk/", "skill:portfolio-review") == []


def test_f4_folder_listings_summarize_each_record(memory):
    fs = desk(memory)
    assert fs.list_dir("/memory/views/")[0] == ("V-001.md", "us_growth | conf:0.6 | active")
    assert fs.list_dir("/memory/expressions")[0].meta == "view:V-001 | active"


def test_a_turn_sees_its_instant_and_its_own_writes_and_nothing_else(memory):
    fs = desk(memory)
    wrote(turn(memory, "other"), "/memory/views/new.md", NEW_VIEW, "1")
    wrote(turn(memory, "other"), "/memory/views/V-001.md", replace(NEW_VIEW, id="V-001", scope="other"), "2")
    assert names(fs, "/memory/views/") == ["V-001.md"]
    assert "us_growth" in fs.read_file("/memory/views/V-001.md")
    assert wrote(fs, "/memory/views/new.md", NEW_VIEW, "3") == "/memory/views/V-003.md"
    assert names(fs, "/memory/views/") == ["V-001.md", "V-003.md"]
    with pytest.raises(Stale):
        wrote(fs, "/memory/views/V-001.md", replace(NEW_VIEW, id="V-001", scope="mine"), "4")
    assert len(names(turn(memory), "/memory/views/")) == 3


def test_a_session_has_files_of_its_own(memory):
    item, other = turn(memory, "one"), turn(memory, "other")
    for fs in (item, other):
        wrote(fs, "/session/results/sa_growth.md", fs.remembered.session, "1")
    assert item.read_file("/session/results/sa_growth.md") == "one"
    assert names(item, "/session/") == ["results/"]
    again = turn(memory, "one")
    assert names(again, "/session/results/") == ["sa_growth.md"]
    with pytest.raises(PathRefused, match="in another spelling"):
        again.write_file("/session/results/SA_growth.md", "x", call_id="2")


def test_deciding_an_event_again_hides_the_writes_of_earlier_tries(memory):
    desk(memory)
    first = turn(memory, "try-1", event="gdp-2014q1")
    wrote(first, "/memory/views/V-001.md", replace(NEW_VIEW, id="V-001", confidence=0.9), "1")
    wrote(first, "/memory/views/new.md", NEW_VIEW, "2")
    memory.flush()
    again = turn(memory, "try-2", event="gdp-2014q1")
    assert parse(KINDS["views"], again.read_file("/memory/views/V-001.md")).confidence == 0.6
    assert names(again, "/memory/views/") == ["V-001.md"]
    wrote(again, "/memory/views/V-001.md", replace(NEW_VIEW, id="V-001", confidence=0.3), "1")
    for other in ({}, {"event": "cpi"}):
        later = turn(memory, "later", **other)
        assert parse(KINDS["views"], later.read_file("/memory/views/V-001.md")).confidence == 0.3


def test_a_replay_reads_memory_as_of_its_decision(memory):
    fs = desk(memory)
    version = memory.flush().version
    code = turn(memory, actor="code")
    wrote(code, "/memory/expressions/E-001.md", replace(NEW_EXPRESSION, id="E-001", status="closed"), "close")
    memory.flush()
    then = memory.hydrate(fs.remembered.as_of, session="s", version=version)
    assert then.head == type(then.head)(fs.remembered.head.seq, fs.remembered.head.chain, version)
    assert then.newest("/memory/outcomes/OUT-001.md") is None


def test_c1_defaults_match_the_design_and_invalid_settings_are_refused(tmp_path):
    outcome = config.Config()
    assert outcome.models == {
        "agent": "opus", "subagent": "sonnet", "validation": "sonnet", "contrastive_validation": "opus",
        "review": "opus", "synthesis": "opus", "compact": "haiku",
    }  # fmt: skip
    assert vars(outcome.guardrails) == {
        "max_single_risk": 5.0, "max_gross": 200.0, "max_duration": 5.0, "max_factor_conc": 30.0,
        "max_single_name": 100.0, "max_total_loss": 100.0, "max_net": 150.0, "max_days_of_volume": 5.0,
        "max_margin": 50.0, "over": "refuse",
    }  # fmt: skip
    assert vars(outcome.counterfactuals) == {"min_days": 14, "min_confidence": 0.6, "default_tracking_days": 90}
    assert (outcome.search.semantic_weight, outcome.search.recency_weight) == (0.7, 0.3)
    assert outcome.sessions.session_timeout_minutes == 30
    file = tmp_path / "forge.toml"
    file.write_text('[models]\nagent = "local"\n[guardrails]\nmax_gross = 100\n')
    loaded = config.load(file)
    assert (loaded.models["agent"], loaded.models["compact"], loaded.guardrails.max_gross) == ("local", "haiku", 100.0)
    wrong = [
        {"guardrail": {}}, {"guardrails": {"max_gros": 1}}, {"guardrails": {"max_gross": "1"}},
        {"models": {"boss": "x"}},
        {"guardrails": {"max_gross": True}}, {"guardrails": {"over": "ignore"}},
        {"search": {"semantic_weight": 0.9}}, {"guardrails": 5},
        {"models": {"agent": 1}},
        {"schedules": {"morning_time": "25:00"}}, {"schedules": {"timezone": "Nowhere/None"}},
        {"guardrails": {"max_gross": float("inf")}},
    ]  # fmt: skip
    for reply in wrong:
        with pytest.raises(BadInput):
            config.from_mapping(reply)


def test_c1_the_pms_approval_cannot_be_turned_off():
    assert config.Config().evolution.pm_approval_required is True
    assert config.from_mapping({"evolution": {"pm_approval_required": True}}) == config.Config()
    with pytest.raises(
        BadInput, match=r"evolution: pm_approval_required can't be false, because agents would .* leave"
    ):
        config.from_mapping({"evolution": {"pm_approval_required": False}})


@pytest.mark.parametrize(
    "service", ["text-embedding-3-small", "openai:text-embedding-3-small", "https://x.org:443", ""]
)
def test_c1_a_remote_embedding_service_is_refused(service):
    assert config.Config().search.embedding_model == "wordllama-l2-supercat-256"
    with pytest.raises(BadInput, match=r"search: embedding_model .* is not on this machine, and memory is sent to no"):
        config.from_mapping({"search": {"embedding_model": service}})


def test_turns_pinned_to_an_instant_do_not_see_later_simulated_writes(tmp_path):
    clock = Simulated("backtest", T0)
    memory = Memory(tmp_path / "forge", clock=clock)
    wrote(turn(memory), "/memory/views/new.md", NEW_VIEW, "1")
    memory.flush()
    clock.move(T0 + timedelta(days=30))
    wrote(turn(memory), "/memory/views/V-001.md", replace(NEW_VIEW, id="V-001", confidence=0.9), "2")
    then = turn(memory, at=T0 + timedelta(days=1))
    assert parse(KINDS["views"], then.read_file("/memory/views/V-001.md")).confidence == 0.6
    assert names(turn(memory, at=T0), "/memory/views/") == []
    with pytest.raises(BadInput, match="only moves forward"):
        clock.move(T0)
