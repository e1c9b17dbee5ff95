"""Contract of dataset `forge_memory`."""

from pitlake.contract import Column, Dataset, GapRule

DATASET = Dataset(
    name="forge_memory",
    title="Memory",
    summary="Forge's writes: every text of every record and session file, in the order of the journal.",
    availability="When it was written, by the journal's clock: the machine's, or a backtest's own.",
    columns=(
        Column(name="path", type="string", required=True, meaning="Path of the text, such as /memory/views/V-001.md."),
        Column(name="kind", type="string", required=True, meaning="Kind of record; `files` are a session's."),
        Column(name="content", type="string", required=True, meaning="The text."),
        Column(name="actor", type="string", required=True, meaning="Who wrote the text: agent, pm or code."),
        Column(name="session", type="string", required=True, meaning="The conversation in which it was written."),
        Column(name="event", type="string", required=True, meaning="The event to be decided; may be empty."),
        Column(name="call_id", type="string", required=True, meaning="The id of the call that wrote it, unique in its "
        "session."),
        Column(name="part", type="int", required=True, meaning="Number of the write in its call, from 0."),
        Column(name="request_hash", type="string", required=True, meaning="Hash of the call's request."),
        Column(name="cause", type="string", required=True, meaning="The transition that caused it; may be empty."),
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
        GapRule(type="unverifiable", reason="tampered", when="a row differs from its journal"),
        GapRule(type="unverifiable", reason="back-dated", when="a row is dated before the previous row"),
        GapRule(type="no_data", reason="lost", when="a number in the journal has no row"),
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
