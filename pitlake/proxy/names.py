"""Recognises members that are times by their names, and values of such members that are not points in time."""

import re
from functools import lru_cache

from pitlake.proxy.spellings import LONGEST_TIME, is_clock_or_zone, plain


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+|\d+")
_UNITS = _words(
    """utc gmt local ms millis milliseconds millisecond us micros microseconds ns nanos sec secs seconds second s unix
    epoch iso str string text raw fmt formatted display human value est edt et long short display
    parsed i ticks"""
)
_STRONG = _words(
    """date dates datetime datetimes timestamp timestamps time times day updated modified created published edited
    posted changed revised amended corrected refreshed released lastmod pubdate mtime ctime btime datum fecha ts dt
    dateline tstamp asof aktualisiert geändert modifié actualizado"""
)
_CHANGES = _words("updated modified edited changed revised amended corrected")
_WEAK = _words(
    """t at on d u update updates edit edits modification revision creation publication release stamp seen filed
    accepted crawled indexed epoch unix utc millis since when instant dtstamp zeit zeitpunkt stand hora heure retrieved
    fetched ingested synced completed closed resolved merged started finished announced captured observed generated
    expires begin start end until vintage iat checked visited measured effective"""
)
_LAST_EVENTS = _words("reply read login activity active sync refresh poll run check visit access view")
_NOT_OF_DATES = _words(
    """format formats id ids by count type types name names zone range precision source key label status flag basis
    field fields confidence title url method order sort granularity picker offset"""
)
_SPANS = _words("full part real half over one first prime life some any every all show long short")
_TAKEN = _words(
    """elapsed total processing response lead wait cpu build run execution query load screen watch estimated duration
    reading cook prep exposure travel flight"""
)
_VALID, _PER = _words("valid effective available active"), _words("per volume average avg turnover")
_OF_DAYS = _words("trading business calendar filing publication publish report market session event settlement")
_JOINED = re.compile(
    "(?:last)?"
    "(?:pub|publish|published|publication|post|posted|update|updated|create|created|creation|mod|modified|modification"
    "|last|file|filed|filing|release|released|accepted|acceptance|edit|edited|change|changed|entry|report|unix|utc"
    "|local|event|effective|announcement|start|end|as)(?:date|time|at|on|datetime|timestamp|ts|stamp)|asof"
)
_JOINED_BEFORE = re.compile("(last|date|time)([a-z]+ed|update|edit|check|seen|login|activity|refresh)")
_OTHER_WORDS = _words(
    """candidate mandate validate invalidate consolidate liquidate accommodate uptime downtime runtime lifetime overtime
    playtime realtime sometime used unused shared cached buffered allocated adjusted diluted weighted retained"""
)
_EVENTS = _words(
    """sent paid sold bought made read held lost won begun written taken given drawn built met left born withdrawn
    broken shown heard done gone expiry expiration deadline due eta exp nbf birth death launch arrival departure debut
    week month hour minute now today latest earliest oldest newest sort e x labels categories"""
)
_ORDER = _words("first last latest previous next due")
_FOREIGN = re.compile(
    "时间|時間|日期|更新|日時|发布|發布|発表|날짜|시간|дата|время|fecha|datum|zeitstempel|horodat|tidspunkt|tarih|paivamaara"
    "|(?:^|[^a-z])data[_ ]?(?:d[aei][_ ])?(?:pub+lica[cz]|aggiornam|atualiz|modifica|criac|creaz|emiss|lancam|registro)"
    "|(?:erstellt|geaendert|geandert|aktualisiert|veroffentlicht|veroeffentlicht)[_ ]?am$|mise?[_ ]?a[_ ]?jour"
    "|ultima[_ ]?(?:act|at|mod|agg)|derniere[_ ]?(?:mod|mise|maj)|^(?:actualiza|atualiza|aggiorna|bijgewerkt)",
    re.IGNORECASE,
)
# COUNT: the name of an event, such as `sold`. A count since 1970 is then a time; other numbers may be amounts.
STRONG, WEAK, COUNT, NO = 3, 2, 1, 0


@lru_cache(maxsize=8192)
def kind_of_name(name: str) -> int:
    """Classify a member's name as a time's: STRONG, WEAK (it may be something else), COUNT or NO."""
    words = [word.lower() for word in _WORD.findall(plain(name))]
    is_clock = bool(words) and words[-1] in ("epoch", "unix", "utc")
    while len(words) > 1 and (words[-1] in _UNITS or words[-1].isdigit()):
        words.pop()
    if not words:
        return NO
    if joined := _JOINED_BEFORE.fullmatch(words[-1]):
        words[-1:] = joined.groups()
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last == "time" and before in _SPANS:
        return NO
    if last == "day" and (before.isdigit() or before in _PER):
        return NO
    if (last == "time" and before in _TAKEN) or (last == "day" and before and before not in _OF_DAYS):
        return WEAK
    is_after_participle = last in ("at", "on") and (before.endswith("ed") or before in ("seen", "sent", "made"))
    is_date_of_kind = bool({"date", "datetime", "timestamp"}.intersection(words)) and last not in _NOT_OF_DATES
    is_time_of_kind = words[0] == "time" and last.endswith("ed")
    if last in _STRONG or is_after_participle or is_date_of_kind or is_time_of_kind:
        return STRONG
    if _JOINED.fullmatch("".join(words)) or _JOINED.fullmatch(last) or _FOREIGN.search(plain(name)):
        return STRONG
    is_weak = last in _LAST_EVENTS if before in ("last", "latest") else last in ("from", "to") and before in _VALID
    is_weak |= last.endswith("date") and last not in _OTHER_WORDS
    if is_weak or is_clock or last in _WEAK or words == ["time", "period"]:
        return WEAK
    is_event = last in _EVENTS or (last.endswith("ed") and not last.endswith("eed")) or words == ["due", "by"]
    is_event &= len(words) == 1 or before in _ORDER  # not `bytes_sent`
    return COUNT if (is_event or last.endswith("time")) and last not in _OTHER_WORDS else NO


def names_change(name: str) -> bool:
    """Return whether a member's name means a change, such as `edited`."""
    words = _WORD.findall(name)
    return bool(words) and words[-1].lower() in _CHANGES


_UNSET = frozenset(("", "-", "--", "n/a", "na", "none", "null", "nan", "nat", "nil", "undefined", "not available"))
_FREQUENCIES = _words(
    """daily weekly monthly quarterly yearly annual annually hourly intraday continuous realtime real-time day week
    month quarter year hour minute second bmo amc dmh dmt tns pre-market post-market premarket postmarket after-hours
    before-market during-market after-market before-open after-close before-market-open market-open market-close
    after-market-close time-pre-market time-after-hours time-not-supplied not-supplied all-day full-day half-day
    semiannual semi-annual semiannually ttm ltm ytd iso8601 unixtime date date-time datetime timestamp time string
    infinity -infinity never forever"""
)
LONGEST_COUNT_OF_A_DURATION = 4
_DURATION = re.compile(
    r"-?P(?=.)(?:\d+(?:\.\d+)?[YMWD])*(?:T(?:\d+(?:\.\d+)?[HMS])+)?|\d+:\d\d:\d\d|\d+(?:[.,]\d+)?"
    r"|[<>~≈]?\s*(?:\d+\s*(?:-|to)\s*)?"
    r"(?:\d+(?:[.,]\d+)?\s*(?:[mun]?s|h|m|d|w|y|mo|secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|weeks?|months?"
    r"|quarters?|years?|(?:trading|business) days?)(?:,?\s*and\s+|[\s,]*))+(?:read)?",
    re.IGNORECASE,
)
_LONG_COUNT = re.compile(r"\d{9}")  # such as 1708070400 seconds since 1970


def is_unset(text: str) -> bool:
    """Return whether a string says that there is no time."""
    return text.strip().lower() in _UNSET or text.startswith(("9999-", "99991231")) or not text.strip("0-/:.TZ +")


def is_duration_or_zone(text: str) -> bool:
    """Return whether a string is a duration, a frequency, a time of day or a time zone."""
    text = plain(text).strip()
    if len(text) > LONGEST_TIME:
        return False
    if text.lower().replace(" ", "-").replace("_", "-") in _FREQUENCIES or _DURATION.fullmatch(text):
        return not (text.isdecimal() and len(text) > LONGEST_COUNT_OF_A_DURATION) and not _LONG_COUNT.search(text)
    start, dash, end = text.partition("-")
    return is_clock_or_zone(text) or (bool(dash) and is_clock_or_zone(start.strip()) and is_clock_or_zone(end.strip()))
