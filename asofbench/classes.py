"""The classes of leaks that lie in the data. What each plants, and what a right answer holds."""

from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from asofbench.model import Case, Row, written
from asofbench.setting import BACKFILLED, Setting, answer_of

NEW_YORK = ZoneInfo("America/New_York")


def _rows(one: Setting, known: list[Row], plant: list[Row], then: list[Row], at: datetime | None = None) -> Case:
    """A case that asks for an entity's records: `known` are public at T, `then` at the plant's instant."""
    return one.case(
        known,
        plant,
        (one.ask("rows"), answer_of(known)),
        (one.ask("rows", at or one.world.future), answer_of(then)),
    )


def late_publication(one: Setting) -> Case:
    """A figure of a period long over is published only after T."""
    known, late = one.public(one.items[0]), one.hidden(one.items[1])
    return _rows(one, [known], [late], [known, late])


def restatement(one: Setting) -> Case:
    """A published figure is restated after T."""
    first, restated = one.public(one.items[0]), one.hidden(one.items[0])
    return _rows(one, [first], [restated], [restated])


def edited_text(one: Setting) -> Case:
    """A text is edited after T; its source stamps the edit beside the first publication."""
    first = one.public(one.items[0])
    edited = one.hidden(one.items[0], stated=first.stated, updated=written(one.world.future))
    return _rows(one, [first], [edited], [edited])


def undated(one: Setting) -> Case:
    """A record states no instant at all; one instant after T its source sends it again, dated."""
    known = one.public(one.items[0])
    never = one.hidden(one.items[1], one.world.base, stated=None)
    dated = one.hidden(one.items[1])
    return one.case(
        [known, never],
        [dated],
        (one.ask("rows"), answer_of([known])),
        (one.ask("rows", one.world.future), answer_of([known, dated])),
        never=(never,),
    )


def date_only(one: Setting) -> Case:
    """A record states a date, T's own: nobody knows at what time of that day it was public."""
    at = one.world.end_of_day
    day = one.world.at.astimezone(NEW_YORK).date().isoformat()
    known, dated = one.public(one.items[0]), one.hidden(one.items[1], at, stated=day, stamp="date")
    return _rows(one, [known], [dated], [known, dated], at)


def naive_eastern(one: Setting) -> Case:
    """A record states New York's time without an offset; read as UTC it would be hours old."""
    at = one.world.soon
    local = at.astimezone(NEW_YORK).replace(tzinfo=None).isoformat(timespec="microseconds")
    known, naive = one.public(one.items[0]), one.hidden(one.items[1], at, stated=local, stamp="new_york")
    return _rows(one, [known], [naive], [known, naive], at)


def start_stamped(one: Setting) -> Case:
    """A record is stamped with the start of what it tells whole: a call, a bar. It ends after T."""
    began = written(one.world.at - timedelta(minutes=30))
    known = one.public(one.items[0])
    whole = one.hidden(one.items[1], stated=began, stamp="start", ends=written(one.world.future))
    return _rows(one, [known], [whole], [known, whole])


def honest_backfill(one: Setting) -> Case:
    """A record that was public long before T is loaded years later. It must be seen, its late companion must not."""
    loaded = written(BACKFILLED)
    known = one.public(one.items[0], loaded_at=loaded)
    late = one.hidden(one.items[1], loaded_at=loaded)
    return _rows(one, [known], [late], [known, late])


def back_dated(one: Setting) -> Case:
    """After T the source slips in another figure for a record the store knew, dated before the store had read it."""
    known = one.public(one.items[0], stated=written(one.world.base - timedelta(days=20)))
    slipped = one.hidden(one.items[0], stated=written(one.world.base - timedelta(days=1)))
    return _rows(one, [known], [slipped], [slipped])


def vendor_rewrite(one: Setting) -> Case:
    """After T the source delivers other content under the same stamp, and says nothing."""
    first = one.public(one.items[0])
    rewritten = one.hidden(one.items[0], stated=first.stated)
    return _rows(one, [first], [rewritten], [rewritten])


def _filled_in(one: Setting, column: str) -> Case:
    """A record is delivered again after T with a column filled in that its source documents as filled in later."""
    first = one.public(one.items[0])
    again = one.public(
        one.items[0],
        loaded_at=written(one.world.future),
        extra=f"{column} = {one.mark(column)}",
    )
    then = one.hidden(one.items[1])
    return _rows(one, [first], [again, then], [first, then])


def relative_columns(one: Setting) -> Case:
    """A column says what a record is by now: superseded, the newest, 30 days old."""
    return _filled_in(one, "superseded_by")


def derived_summary(one: Setting) -> Case:
    """A column sums up all of the history, on every record of it."""
    return _filled_in(one, "lifetime_high")


def outcome_columns(one: Setting) -> Case:
    """A column tells how it ended: the return of the days after."""
    return _filled_in(one, "return_of_next_20_days")


def survivorship(one: Setting) -> Case:
    """A member leaves and another joins after T. Who was there must be there, who came must not."""
    names = [one.dice.token("member", place).upper() for place in range(3)]
    members = [one.public(name, value=1.0, text=f"{name} is a member.") for name in names]
    newcomer = one.mark("newcomer")
    left = one.hidden(names[1], value=0.0)
    joined = one.hidden(newcomer, value=1.0)
    return one.case(
        members,
        [left, joined],
        (one.ask("members"), sorted(names)),
        (one.ask("members", one.world.future), sorted([names[0], names[2], newcomer])),
    )


def todays_universe(one: Setting) -> Case:
    """Figures are joined on a list as it is today. It tells since when each member is one, and its edition, after T. In
    half of the cases it is the first edition, so that there was no list at T.
    """
    since, edition = written(one.world.base - timedelta(days=400)), written(one.world.future)
    stayed, left, joined = (one.dice.token("member", place).upper() for place in range(3))
    figures = {name: _of_another(one, name, one.items[0]) for name in (stayed, left, joined)}
    earlier = [one.public(name, stated=since, value=1.0, text=f"{name} is listed.") for name in (stayed, left)]
    today = [
        one.hidden(name, stated=since, updated=edition, value=float(name != left)) for name in (stayed, left, joined)
    ]
    if one.number % 2:
        earlier, today = [], [row for row in today if row.value]
    listed, then = [row.item for row in earlier], [row.item for row in today if row.value]
    return one.case(
        [*figures.values(), *earlier],
        today,
        (one.ask("figures", term=one.items[0]), {name: figures[name].value for name in listed}),
        (one.ask("figures", one.world.future, term=one.items[0]), {name: figures[name].value for name in then}),
    )


def _of_another(one: Setting, name: str, item: str) -> Row:
    """A public record of another entity than the case's; no two have the same number."""
    value = float(one.dice.number(1_000, 99_999, "figure", name, item))
    return one.public(item, entity=name, value=value, text=f"{name}, {item}: m{one.dice.token('text', name, item)}.")


def todays_identifier(one: Setting) -> Case:
    """After T a company bears another ticker, and its source delivers all of its history under it, with the stamps of
    then beside that of the change. In half of the cases the ticker was another company's.
    """
    before = one.dice.token("before").upper()
    history = [_of_another(one, before, item) for item in one.items[:3]]
    owned = [one.public(one.items[0])] if one.number % 2 else []
    renamed = [
        one.hidden(row.item, stated=row.stated, updated=written(one.world.future), value=row.value) for row in history
    ]
    return one.case(
        [*history, *owned],
        renamed,
        (one.ask("rows"), answer_of(owned)),
        (one.ask("rows", one.world.future), answer_of(renamed)),
    )


def snapshot_endpoint(one: Setting) -> Case:
    """An endpoint ignores the date that it is requested for. After T it is requested for dates before T, and what is
    current comes back under those dates: for a record that was read before, and for one that was not.
    """
    first = one.public(one.items[0], stamp="snapshot")
    again = [
        one.hidden(item, stated=written(one.world.at - timedelta(days=5 * (1 + place))), stamp="snapshot")
        for place, item in enumerate(one.items[:2])
    ]
    return _rows(one, [first], again, again)


def split_adjusted(one: Setting) -> Case:
    """After T a split makes the vendor rewrite every bar of the past, under the stamps of then."""
    bars = [one.public(item) for item in one.items[:3]]
    adjusted = [one.hidden(bar.item, stated=bar.stated) for bar in bars]
    mean = sum(bar.value for bar in bars) / len(bars)
    then = sum(bar.value for bar in adjusted) / len(bars)
    return one.case(
        bars,
        adjusted,
        (one.ask("aggregate", fn="avg"), mean),
        (one.ask("aggregate", one.world.future, fn="avg"), then),
    )


def event_time_join(one: Setting) -> Case:
    """What was known at an event before T, joined by a figure published between the event and T."""
    published = one.world.at - timedelta(days=5)
    first = one.public(one.items[0])
    between = one.public(one.items[0], published, event=written(one.world.at - timedelta(days=60)))
    event = written(one.world.at - timedelta(days=10))
    spine = ((one.entity, one.items[0], event),)
    return one.case(
        [first, between],
        [],
        (one.ask("join", spine=spine), [first.value]),
        (one.ask("join", spine=((one.entity, one.items[0], written(published)),)), [between.value]),
    )


def later_memory(one: Setting) -> Case:
    """An agent's notes about what lies before T, written after it."""
    view, late = one.public(one.items[0]), one.hidden(one.items[1])
    revised = one.hidden(one.items[0])
    return _rows(one, [view], [late, revised], [revised, late])


def search_statistics(one: Setting) -> Case:
    """How many records hold a word: rarity, by which searches rank, moves with texts of the future."""
    word = f"w{one.dice.token('word')}"
    holding = [one.public(item, text=f"{word} in the past, {place}.") for place, item in enumerate(one.items[:2])]
    late = one.hidden(one.items[2], text=f"{word} again {one.mark('late')}.")
    return one.case(
        holding,
        [late],
        (one.ask("frequency", term=word), 2),
        (one.ask("frequency", one.world.future, term=word), 3),
    )


def midnight_stamped(one: Setting) -> Case:
    """An export spells a date, T's own, as a time: its midnight."""
    at = one.world.end_of_day
    day = one.world.at.astimezone(NEW_YORK).date().isoformat()
    known = one.public(one.items[0])
    spelled = one.hidden(one.items[1], at, stated=f"{day}T00:00:00", stamp="date")
    return _rows(one, [known], [spelled], [known, spelled], at)


def any_order(one: Setting) -> Case:
    """Older vintages of a record arrive after a newer one, before T and after it. The newest vintage stays current."""
    at, days = one.world.at, timedelta(days=1)
    newest = one.public(one.items[0], at - 20 * days)
    older = one.public(one.items[0], at - 10 * days, stated=written(at - 60 * days))
    oldest = one.public(one.items[0], one.world.future, stated=written(at - 70 * days))
    late = one.hidden(one.items[1])
    return one.case(
        [newest, older],
        [oldest, late],
        (one.ask("rows"), answer_of([newest])),
        (one.ask("rows", one.world.future), answer_of([newest, late])),
    )


def two_bounds(one: Setting) -> Case:
    """What was public by T and loaded by K: K lies before T in half of the cases, and after it in the other half."""
    base, future, days = one.world.base, one.world.future, timedelta(days=1)
    known, late = one.public(one.items[0]), one.hidden(one.items[1])
    by, at = (future + days, future + 2 * days) if one.number % 2 else (base + 10 * days, base + 20 * days)
    in_time, too_late = (
        one.public(item, base, loaded_at=written(came)) for item, came in zip(one.items[2:], (by, at), strict=True)
    )
    return one.case(
        [known, in_time, too_late],
        [late],
        (one.ask("rows", loaded_by=written(by)), answer_of([known, in_time])),
        (one.ask("rows", future, loaded_by=written(max(at, future))), answer_of([known, in_time, too_late, late])),
    )


def replay(one: Setting) -> Case:
    """The answer that was given at T is asked for again after an archive of the time before T was loaded."""
    known, late = one.public(one.items[0]), one.hidden(one.items[1])
    archived = one.public(one.items[2], loaded_at=written(BACKFILLED))
    return one.case(
        [known, archived],
        [late],
        (one.ask("rows", loaded_by=written(one.world.at)), answer_of([known])),
        (one.ask("rows", one.world.future), answer_of([known, archived, late])),
    )


def late_split(one: Setting) -> Case:
    """After T the source delivers a split that took effect before T. Figures at T are divided by the splits known then:
    in half of the cases there is one.
    """
    days = timedelta(days=1)
    figures = [one.public(item) for item in one.items[:3]]
    on_time, late = (
        one.hidden(f"split {number}", at, stated=written(one.world.at - back * days), stamp="effective", value=ratio)
        for number, at, back, ratio in ((1, one.world.at - 12 * days, 13, 2.0), (2, one.world.future, 11, 4.0))
    )
    known = [replace(on_time, text=one.text("split 1", "m1"))] if one.number % 2 else []
    then = {row.item: row.value / (2.0 if known else 1.0) for row in figures}
    return one.case(
        [*figures, *known],
        [late],
        (one.ask("adjusted", term="split"), then),
        (one.ask("adjusted", one.world.future, term="split"), {item: value / 4.0 for item, value in then.items()}),
    )


def retraction(one: Setting) -> Case:
    """A delivery was wrong, for a record that was there and for another, and is withdrawn today. It arrived before T,
    or later as an archive. In half of the cases another delivery states the second record rightly.
    """
    days, apart = timedelta(days=1), timedelta(seconds=1 + one.number)
    came = one.world.at - 20 * days + apart if one.number % 4 < 2 else BACKFILLED - apart
    first = one.public(one.items[0])
    wrong = [
        one.hidden(item, came, stated=written(one.world.at - 20 * days), loaded_at=written(came))
        for item in one.items[:2]
    ]
    right = [one.public(one.items[1], one.world.at - 10 * days)] if one.number % 2 else []
    late = one.hidden(one.items[2])
    return one.case(
        [first, *wrong, *right],
        [late],
        (one.ask("retracted", statement=written(came)), answer_of([first, *right])),
        (one.ask("retracted", one.world.future, statement=written(came)), answer_of([first, *right, late])),
        never=tuple(wrong),
    )


def erasure(one: Setting) -> Case:
    """Everything about an entity must be erased today, from answers as of any instant and from the files. Another
    entity, whose records came with the same deliveries, stays as it was, and is restated after T: half of the cases ask
    for it as of T.
    """
    beside = one.dice.token("beside").upper()
    mine = [one.hidden(one.items[0], one.world.base), one.hidden(one.items[0], one.world.at - timedelta(days=20))]
    known = one.public(one.items[0], entity=beside, text=f"{beside} stays m{one.dice.token('beside', 'text')}.")
    late = one.hidden(one.items[0], entity=beside)
    return one.case(
        [*mine, known],
        [late],
        (one.ask("erased", entity=beside, statement=one.entity), answer_of([known]))
        if one.number % 2
        else (one.ask("erased", statement=one.entity), {}),
        (one.ask("erased", one.world.future, entity=beside, statement=one.entity), answer_of([late])),
        never=tuple(mine),
    )


def random_history(one: Setting) -> Case:
    """A history by chance: new records, archives, restatements, rewrites under old dates, older vintages. Each is drawn
    apart from all others, and its right answers follow from a rule: a record counts from its date, and a further
    delivery of it at the earliest from its arrival; the latest date is current.
    """
    at, future = one.world.at, one.world.future
    moments = [at + timedelta(days=day) for day in (-40, -30, -20, -10)] + [
        future + timedelta(days=2),
        at + timedelta(days=300),
    ]
    drawn = [moments[one.dice.number(0, len(moments) - 1, "moment", place)] for place in range(9)]
    rows: list[tuple[datetime, Row]] = []
    dates: dict[str, datetime] = {}
    for place, came in enumerate(sorted([moments[0], future, *drawn])):
        item = one.items[0] if came == future else one.dice.pick(one.items, "item", place)
        if rows and (item, written(came)) in {(row.item, row.loaded_at) for _, row in rows}:
            continue
        archived = min(came, at) - timedelta(hours=one.dice.number(1, 2000, "age", place))
        choice = 0 if came == future else one.dice.number(0, 2, "choice", place)
        date = (came, archived, dates.get(item, archived))[choice]
        public = came if item in dates else date
        make = one.hidden if public > at else one.public
        rows.append((public, replace(make(f"{item}/{place}", came, stated=written(date)), item=item)))
        dates[item] = date
    return one.case(
        [row for public, row in rows if public <= at],
        [row for public, row in rows if public > at],
        (one.ask("rows"), answer_of(_current(rows, at))),
        (one.ask("rows", future), answer_of(_current(rows, future))),
    )


def _current(rows: list[tuple[datetime, Row]], at: datetime) -> list[Row]:
    """The public row of each item with the latest date; of two with one date, the later arrival."""
    visible = sorted(
        (row.stated or "", row.loaded_at, place) for place, (public, row) in enumerate(rows) if public <= at
    )
    return list({rows[place][1].item: rows[place][1] for _, _, place in visible}.values())
