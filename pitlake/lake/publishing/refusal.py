"""Refusal: staged rows that break a rule become gaps, so that a bad record does not block other records.

A row is checked by the gate, by its contract's rules, by its partition's day, and against rows that contradict it. The
first rule that it breaks is the gap's reason. `audit` checks the run as a whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pitlake import clock
from pitlake.contract import INSTANT, LEAST_ENTITIES, LEAST_REFUSED, UNREADABLE_RECORD
from pitlake.gate.columnar import FIRST, row_codes
from pitlake.gate.rules import CODES
from pitlake.lake.publishing.audit import MOST_EXAMPLES, NEVER, Audit, CheckResult, audit
from pitlake.lake.publishing.duplicates import Clash
from pitlake.lake.publishing.expectations import row_tests
from pitlake.lake.publishing.stage import GAP_STAGED_SCHEMA, UNDATED, Staged, safe_locator
from pitlake.lake.storage.arrays import Positions, as_micros, as_numbers
from pitlake.lake.storage.parallel import in_blocks
from pitlake.lake.tables.query import calculator

GATE, ROW_RULES, PARTITION_WINDOW, REFUSED_SHARE = "gate", "row_rules", "partition_window", "refused_share"
IDENTITY_UNIQUE, KEY_UNIQUE = "identity_unique", "key_unique"
REFUSING = (GATE, ROW_RULES, PARTITION_WINDOW, IDENTITY_UNIQUE, KEY_UNIQUE)
"""The checks that turn records into gaps."""
GAP_TYPE, FEEDS = "unverifiable", "external"
BY_GATE = "refused by the gate: {}"
BY_RULE = "breaks the rule: {}"
OTHER_DAY = "available on another day than its partition's"
TWO_CONTENTS = "two contents under one identity"
OUTDATED = "the source has newer content under this identity"
TWO_ANSWERS = "two answers under one key"
PERCENT = 100


@dataclass(frozen=True)
class Judged:
    """A stage whose refused rows have become gaps, and the result of every check."""

    staged: Staged
    checks: tuple[CheckResult, ...]


@dataclass(frozen=True)
class Refused:
    """Rows that one rule refuses.

    `fact` is the name under which the check counts these rows. `shown_at` contains the instants of their gaps in
    microseconds (NEVER: when observed).
    """

    check: str
    fact: str
    reason: str
    positions: Positions
    shown_at: Positions


def judge(staged: Staged, observed_at: datetime, further: Sequence[Audit] = ()) -> Judged:
    """Refuse rows, audit the rest, and run more audits if nothing blocks."""
    passed, refusals = refuse(staged, observed_at)
    checks = (*refusals, *audit(passed, observed_at))
    if not any(check.refuses for check in checks):
        checks = (*checks, *(result for audit in further for result in audit(passed, observed_at)))
    return Judged(passed, checks)


def refuse(staged: Staged, observed_at: datetime) -> tuple[Staged, tuple[CheckResult, ...]]:
    """Return the stage with every refused row turned into a gap, and the result of each check."""
    left, every, checks = staged, list[Refused](), list[CheckResult]()
    entities = set[str]()
    for names, find in (
        ((GATE, ROW_RULES, PARTITION_WINDOW), partial(_broken_alone, observed=clock.micros(observed_at))),
        ((IDENTITY_UNIQUE,), _two_contents),
        ((KEY_UNIQUE,), _two_answers),
    ):
        # Each refused row belongs to the first rule that refuses it.
        free, refused = np.ones(left.rows.num_rows, bool), []
        for group in find(left):
            chosen = free[group.positions]
            free[group.positions] = False
            if chosen.any():
                refused.append(replace(group, positions=group.positions[chosen], shown_at=group.shown_at[chosen]))
        for name in names:
            of_check = [group for group in refused if group.check == name]
            examples = (locator for group in of_check for locator in _locators(left, group.positions[:MOST_EXAMPLES]))
            result = CheckResult(
                name=name,
                passed=not of_check,
                severity="warning" if of_check else "blocking",
                facts={**_counts(name, left), **{group.fact: len(group.positions) for group in of_check}},
                examples=tuple(dict.fromkeys(examples))[:MOST_EXAMPLES],
            )
            checks.append(result)
        every += refused
        for group in refused:
            entities |= {*pc.unique(left.rows[staged.dataset.entity].take(pa.array(group.positions))).to_pylist()}
        left = _with_gaps(left, refused)
    count = sum(len(group.positions) for group in every)
    is_of_few = staged.dataset.group == FEEDS and len(entities) < LEAST_ENTITIES
    if is_of_few:  # A few entities with refused rows do not stop a run in which more entities have none.
        others = {*pc.unique(left.rows[staged.dataset.entity]).to_pylist()} - entities
        is_of_few = len(others) >= LEAST_ENTITIES
    # Few enough records may be refused, including records that the normaliser could not read, which alone decide if the
    # others are of a few entities.
    unreadable = pc.sum(pc.equal(left.gaps["reason"], UNREADABLE_RECORD)).as_py() or 0
    records, limit = sum(left.extracted.values()), staged.dataset.most_refused
    count += unreadable
    passed = (unreadable if is_of_few else count) < LEAST_REFUSED or count <= limit * records
    why = {} if passed else {name: fact for check in checks if not check.passed for name, fact in check.facts.items()}
    share = CheckResult(
        name=REFUSED_SHARE,
        passed=passed,
        facts={**why, "refused": count, "records": records, "percent_allowed": f"{PERCENT * limit:g}"},
        examples=() if passed else tuple(dict.fromkeys(locator for check in checks for locator in check.examples)),
    )
    return left, (*checks, share)


def _broken_alone(staged: Staged, observed: int) -> Iterator[Refused]:
    """Refuse rows that are invalid by themselves."""

    def shown_at(rows: Positions) -> Positions:
        own = as_micros(staged.rows[clock.AVAILABLE_AT].take(pa.array(rows)), null=NEVER)
        return np.where((own >= FIRST) & (own <= observed), own, NEVER)

    # No row may be available after the observation.
    cutoff, json_columns = clock.from_micros(observed), staged.dataset.json_columns
    blocks = in_blocks(lambda rows, _: row_codes(rows, cutoff, json_columns), staged.rows)
    codes = np.concatenate([np.zeros(0, np.uint8), *blocks])
    for number in np.flatnonzero(np.bincount(codes)[1:]) + 1:
        code, rows = CODES[number - 1], np.flatnonzero(codes == number)
        yield Refused(GATE, code, BY_GATE.format(code), rows, shown_at(rows))
    for name, rows in _breaking_rules(staged):
        yield Refused(ROW_RULES, name, BY_RULE.format(name), rows, shown_at(rows))
    days = [None if name == UNDATED else date.fromisoformat(name) for name in staged.partitions]
    rows = np.empty(0, np.int64)
    if any(days):
        starts = [NEVER if day is None else clock.micros(clock.start_of_new_york_day(day)) for day in days]
        ends = [-NEVER if day is None else clock.micros(clock.end_of_new_york_day(day)) for day in days]
        index, at = staged.row_partition, staged.available
        rows = np.flatnonzero((at < np.array(starts)[index]) | (at >= np.array(ends)[index]))
    yield Refused(PARTITION_WINDOW, "outside", OTHER_DAY, rows, np.full(len(rows), NEVER))


def _breaking_rules(staged: Staged) -> Iterator[tuple[str, Positions]]:
    """Yield each broken rule of the contract, in order, with the rows that break it."""
    tests = row_tests(staged.dataset)
    broken = ", ".join(f"NOT ({test.sql}) AS r{number}" for number, test in enumerate(tests))
    needed = sorted({name for test in tests for name in test.columns})
    table = staged.rows.select(needed).append_column("_position", pa.array(np.arange(staged.rows.num_rows)))
    with calculator(staged=table) as sql:
        breaking = sql.sql(
            f"FROM (SELECT _position, {broken} FROM staged) "
            f"WHERE {' OR '.join(f'r{number}' for number in range(len(tests)))} ORDER BY _position"
        ).to_arrow_table()
    for number, test in enumerate(tests):
        rows = as_numbers(breaking["_position"].filter(breaking[f"r{number}"].fill_null(False)))
        if len(rows):
            yield test.name, rows


def _two_contents(staged: Staged) -> Iterator[Refused]:
    """Refuse contradictory rows of one identity: all of them, unless the source says which row is the newest."""
    clash = staged.duplicates.identity_clash
    shown_at, newest = _newest_of_group(staged.available[clash.positions], clash), _newest_content(staged, clash)
    settled = np.isin(clash.group, clash.group[newest])
    for reason, chosen in ((OUTDATED, settled & ~newest), (TWO_CONTENTS, ~settled)):
        yield Refused(IDENTITY_UNIQUE, reason, reason, clash.positions[chosen], shown_at[chosen])


def _two_answers(staged: Staged) -> Iterator[Refused]:
    clash = staged.duplicates.key_clash
    shown_at = _newest_of_group(staged.available[clash.positions], clash)
    yield Refused(KEY_UNIQUE, TWO_ANSWERS, TWO_ANSWERS, clash.positions, shown_at)


def _newest_of_group(instants: Positions, clash: Clash) -> Positions:
    """Return, for each row of a clash, the newest instant of its group.

    Until that instant, nothing contradicted the other rows.
    """
    _, group = np.unique(clash.group, return_inverse=True)
    newest = np.full(group.max(initial=-1) + 1, NEVER)
    np.maximum.at(newest, group, instants)
    return newest[group]


def _newest_content(staged: Staged, clash: Clash) -> npt.NDArray[np.bool_]:
    """Return the rows of a clash that the source dates after all others of their group, if they have equal content."""
    stays = np.zeros(len(clash.positions), bool)
    if staged.dataset.revised_at in ("", clock.AVAILABLE_AT) or not len(stays):
        return stays
    places = pa.array(clash.positions)
    revised = as_micros(staged.rows[staged.dataset.revised_at].take(places), null=NEVER)
    newest = revised == _newest_of_group(revised, clash)
    content = np.array(staged.content_hash.take(places).to_pylist(), object)
    for group in np.unique(clash.group):
        rows = clash.group == group
        best = rows & newest
        contents = set(zip(content[best], staged.available[clash.positions[best]], strict=True))
        stays |= best if len(contents) == 1 and (revised[rows] > NEVER).all() else False
    return stays


def _counts(name: str, staged: Staged) -> dict[str, int | str]:
    """Return the facts of a check that may refuse rows."""
    duplicates = staged.duplicates if name in {IDENTITY_UNIQUE, KEY_UNIQUE} else None
    if duplicates is None:
        return {"rows": staged.rows.num_rows}
    if name == KEY_UNIQUE:
        return {"keys_with_two_answers": duplicates.key_clash.groups}
    return {"identities_with_two_contents": duplicates.identity_clash.groups, "seen_twice": len(duplicates.again)}


def _with_gaps(staged: Staged, refused: Sequence[Refused]) -> Staged:
    """Return the stage with some rows turned into gaps. The other rows are not copied."""
    if not refused:
        return staged
    gaps = []
    for group in refused:
        shown_at = pa.array(group.shown_at, pa.int64(), mask=group.shown_at == NEVER).cast(INSTANT)
        texts = (pa.array([text] * len(group.positions), pa.string()) for text in (GAP_TYPE, group.reason))
        locators = pa.array(_locators(staged, group.positions), pa.string())
        gaps.append(pa.Table.from_arrays([*texts, locators, shown_at], schema=GAP_STAGED_SCHEMA))
    positions = np.concatenate([group.positions for group in refused])
    partition = np.concatenate([staged.gap_partition, staged.row_partition[positions]])
    order = np.argsort(partition, kind="stable")
    return staged.derived(
        rows=_others(staged.rows, positions),
        row_partition=np.delete(staged.row_partition, positions),
        content_hash=_others(pa.table({"hash": staged.content_hash}), positions)["hash"],
        gaps=pa.concat_tables([staged.gaps, *gaps]).take(pa.array(order)),
        gap_partition=partition[order],
    )


def _locators(staged: Staged, positions: Positions) -> list[str]:
    """Return the locators of these rows' records: their evidence, or the hash of their content if they have none."""
    places = pa.array(positions, pa.int64())
    cited = staged.rows["evidence"].take(places).to_pylist()
    hashes = staged.content_hash.take(places).to_pylist()
    return [
        safe_locator(text) if text and text.strip() else f"{staged.dataset.name}:row:{content.hex()}"
        for text, content in zip(cited, hashes, strict=True)
    ]


def _others(table: pa.Table, positions: Positions) -> pa.Table:
    """Return the rows of a table except those at some positions, as slices."""
    ends = [*np.sort(positions).tolist(), table.num_rows]
    starts = [0, *(end + 1 for end in ends[:-1])]
    slices = [table.slice(start, end - start) for start, end in zip(starts, ends, strict=True) if end > start]
    return pa.concat_tables([table.schema.empty_table(), *slices])
