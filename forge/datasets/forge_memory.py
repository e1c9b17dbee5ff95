"""Contract of dataset `forge_memory`."""

from pitlake.contract import Column, Dataset, GapRule

DATASET = Dataset(
    name="forge_memory",
    title="Memory",
    summary="What Forge wrote: every text of every record and session file, in the order of its journal.",
    availability="When it was written, by the journal's clock: the machine's, or a backtest's own.",
    columns=(
        Column(name="path", type="string", required=True, meaning="Where the text is, such as /memory/views/V-001.md."),
        Column(name="kind", type="string", required=True, meaning="Kind of record; `files` are a session's."),
        Column(name="content", type="string", required=True, meaning="The text."),
        Column(name="actor", type="string", required=True, meaning="Who wrote: agent, pm or code."),
        Column(name="session", type="string", required=True, meaning="The conversation it was written in."),
        Column(name="event", type="string", required=True, meaning="What was being decided; empty of nothing."),
        Column(name="call_id", type="string", required=True, meaning="The call that wrote, unique in its session."),
        Column(name="part", type="int", required=True, meaning="Which of the call's writes this is, from 0."),
        Column(name="request_hash", type="string", required=True, meaning="Hash of the call's request."),
        Column(name="cause", type="string", required=True, meaning="The transition it follows from; empty of none."),
        Column(name="seq", type="int", required=True, minimum=1, strict=True, meaning="Number in the journal, from 1."),
        Column(name="prev", type="string", required=True, meaning="Hash of the row before."),
        Column(name="chain", type="string", required=True, meaning="Hash of the row and of the one before, SHA-256."),
        Column(name="journal", type="string", required=True, meaning="Name of the journal."),
        Column(name="clock", type="string", required=True, meaning="`live`, or `simulated:` and the backtest's run."),
    ),
    key=("path",),
    identity=("journal", "seq"),
    entity="kind",
    source_tag="provider_metadata",
    gap_rules=(
        GapRule(type="unverifiable", reason="tampered", when="a row is not what its journal wrote"),
        GapRule(type="unverifiable", reason="back-dated", when="a row says it was written before the one before it"),
        GapRule(type="no_data", reason="lost", when="a number of the journal has no row"),
    ),
    knowable=dict.fromkeys(
        (
            "path", "kind", "content", "actor", "session", "event", "call_id", "part", "request_hash", "cause", "seq",
            "prev", "chain", "journal", "clock",
        ),
        "lake",
    ),
    group="forge",
    cites="session and number of the record in the journal",
    partitioned=False,
    owner="forge",
)  # fmt: skip
