"""Contract of dataset `forge_memory`."""

from pitlake.contract import Column, Dataset, GapRule

DATASET = Dataset(
    name="forge_memory",
    title="Memory",
    summary="Forge's writes: every text of every record and session file, in the order of the journal.",
    availability="When it was written, by the journal's clock: the machine's, or a backtest's own.",
    columns=(
        Column("path", "string", "Path of the text, such as /memory/views/V-001.md.", required=True),
        Column("kind", "string", "Kind of record; `files` are a session's.", required=True),
        Column("content", "string", "The text.", required=True),
        Column("actor", "string", "Who wrote the text: agent, pm or code.", required=True),
        Column("session", "string", "The conversation in which it was written.", required=True),
        Column("event", "string", "The event to be decided; may be empty.", required=True),
        Column("call_id", "string", "The id of the call that wrote it, unique in its "
        "session.", required=True),
        Column("part", "int", "Number of the write in its call, from 0.", required=True),
        Column("request_hash", "string", "Hash of the call's request.", required=True),
        Column("cause", "string", "The transition that caused it; may be empty.", required=True),
        Column("seq", "int", "Number in the journal, from 1.", required=True, minimum=1, strict=True),
        Column("prev", "string", "Hash of the row before.", required=True),
        Column("chain", "string", "Hash of the row and of the one before, SHA-256.", required=True),
        Column("journal", "string", "Name of the journal.", required=True),
        Column("clock", "string", "`live`, or `simulated:` and the backtest's run.", required=True),
    ),
    key=("path",),
    identity=("journal", "seq"),
    entity="kind",
    source_tag="provider_metadata",
    gap_rules=(
        GapRule("tampered", "a row differs from its journal"),
        GapRule("back-dated", "a row is dated before the previous row"),
        GapRule("lost", "a number in the journal has no row", type="no_data"),
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
    owner="forge",
)  # fmt: skip
