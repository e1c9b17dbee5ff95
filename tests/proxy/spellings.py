"""Three hundred formats of times, as servers write them, and three hundred texts and values that are not times."""

import json
from datetime import datetime, timedelta, timezone


def _listed(text):
    return text.strip().replace("\n", "|").split("|")


_STRFTIME = _listed("""
%Y-%m-%d|%Y/%m/%d|%Y.%m.%d|%Y%m%d|%d.%m.%Y|%d/%m/%Y|%m/%d/%Y|%m-%d-%Y|%d-%m-%Y|%m/%d/%y|%d.%m.%Y %H:%M
%Y-%m-%d %H:%M|%Y-%m-%d %H:%M:%S|%Y-%m-%d %H:%M:%S.%f|%Y-%m-%dT%H:%M:%S|%Y-%m-%dT%H:%M:%SZ|%Y-%m-%dT%H:%M:%S.%fZ
%Y-%m-%dT%H:%MZ|%Y-%m-%d %H:%M:%S UTC|%Y-%m-%d %H:%M:%S GMT|%Y-%m-%d %H:%M EST|%Y-%m-%d %H:%M:%S EDT
%Y-%m-%d %H:%M ET|%Y-%m-%d %H:%M CET|%Y-%m-%d %H:%M PST|%Y-%m-%d %H:%M:%S JST|%Y-%m-%d %H:%M Eastern Time
%Y-%m-%d %H:%M:%S America/New_York|%Y-%m-%dT%H:%M:%S+00:00|%Y-%m-%dT%H:%M:%S-05:00|%Y-%m-%dT%H:%M:%S+0530
%Y-%m-%d %H:%M:%S -0500|%Y-%m-%dT%H:%M:%S-05:00[America/New_York]|%Y-%m-%dT%H:%M:%S.%f+00:00|%Y-%m-%d %H:%M:%S+00
%Y%m%dT%H%M%S|%Y%m%dT%H%M%SZ|%Y%m%d%H%M%S|%Y%m%d %H:%M|%Y/%m/%d %H:%M:%S|%m/%d/%Y %H:%M|%m/%d/%Y %I:%M %p
%m/%d/%Y, %I:%M:%S %p|%m/%d/%y %H:%M|%d/%m/%Y %H:%M:%S|%d-%b-%Y|%d-%b-%y|%d-%b-%Y %H:%M:%S|%d %b %Y|%d %B %Y
%d %b %Y %H:%M|%d %B %Y, %H:%M|%d %b %Y %H:%M:%S GMT|%b %d, %Y|%B %d, %Y|%b. %d, %Y|%b %d %Y|%B %d %Y
%b %d, %Y %I:%M %p|%b %d, %Y, %I:%M %p|%B %d, %Y at %I:%M %p|%B %d, %Y at %I:%M %p EST|%b %d, %Y %H:%M ET
%a, %d %b %Y %H:%M:%S GMT|%a, %d %b %Y %H:%M:%S +0000|%a, %d %b %Y %H:%M:%S -0500 (EST)|%d %b %Y %H:%M:%S +0000
%a %b %d %H:%M:%S %Y|%a %b %d %H:%M:%S UTC %Y|%a %b %d %H:%M:%S +0000 %Y|%a %b %d %Y|%a %b %d %Y %H:%M:%S GMT+0000
%A, %B %d, %Y|%A %d %B %Y|%A, %d-%b-%y %H:%M:%S GMT|%a, %b %d, %Y|%a %d %b %Y, %H:%M|%B %dth, %Y|%dth %B %Y
%dth of %B %Y|%d%b%Y|%Y %b %d|%Y, %B %d|%Y-%b-%d|%b-%d-%Y|%d/%b/%Y|%d/%b/%Y:%H:%M:%S +0000|%Y-%j|%G-W%V-%u|%GW%V%u
%Y年%m月%d日|%Y年%m月%d日 %H:%M|%Y年%m月%d日%H時%M分|%H:%M %d/%m/%Y|%H:%M, %d %B %Y|%I:%M %p, %b %d, %Y
%I:%M %p %m/%d/%Y|%H:%M:%S %d.%m.%Y|%m.%d.%Y|%Y_%m_%d|%Y-%m-%d_%H:%M|%Y-%m-%d at %H:%M|%Y-%m-%d, %H:%M UTC
%d.%m.%Y, %H:%M Uhr|%Y-%m-%dT%H|%Y-%m-%dT%H:%M:%S.000000001Z|%Y-%m-%dT%H:%M:%S,%f|(%Y-%m-%d)|"%Y-%m-%d"
%Y-%m-%dT%H:%M:%Sz|%Y-%m-%d\u00a0%H:%M|%b %d '%y|%Y년 %m월 %d일|%Y년 %m월 %d일 오후 3:30|%Y. %m. %d.|%Y年%m月%d日(金)
%Y年%m月%d日 午後3時30分|%Y年%m月%d日 下午3:30|%Y:%m:%d %H:%M:%S|**%Y-%m-%d**|`%Y-%m-%d`|%Y—%m—%d|%Y‒%m‒%d
%Y−%m−%d|%Y\\/%m\\/%d
%d&nbsp;%B&nbsp;%Y|%Y&#45;%m&#45;%d|Stand: %d.%m.%Y|Zuletzt aktualisiert: %d.%m.%Y|Mis à jour le %d/%m/%Y à 14h30
Actualizado: %d/%m/%Y|Aggiornato il %d/%m/%Y|bijgewerkt op %d-%m-%Y|最終更新: %Y年%m月%d日|更新于 %Y-%m-%d|🕒 %Y-%m-%d
Fr., %d.%m.%Y|As of close %m/%d/%Y|Data as of %b %d %Y|Last trade: %Y-%m-%d %H:%M|%B 1-%d, %Y|%B 1–%d, %Y
%Y%m%d%H%M%S.0Z|%Y%m%d_%H%M%S|%Y%m%d-%H:%M:%S.123|%Y-%m-%d|%Y-%m-%d~%Y-%m-%d
""")
_LABELLED = ("Updated: {}", "Last updated {}", "Published on {}", "posted {}", "Modified {}", "as of {}", "{} (edited)")
_LABELLED_FORMS = ("%Y-%m-%d", "%b %d, %Y", "%d %B %Y", "%m/%d/%Y", "%Y-%m-%d %H:%M", "%B %d, %Y at %I:%M %p EST")
_MONTHS = {
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "da": "januar februar marts april maj juni juli august september oktober november december",
    "sv": "januari februari mars april maj juni juli augusti september oktober november december",
    "pl": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
    "cs": "ledna února března dubna května června července srpna září října listopadu prosince",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "tr": "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
    "no": "januar februar mars april mai juni juli august september oktober november desember",
    "ro": "ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie",
    "uk": "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня",
    "hu": "január február március április május június július augusztus szeptember október november december",
    "plain de": "Jaenner Feber Maerz April Mai Juni Juli August September Oktober November Dezember",
    "plain fr": "janv fevr mars avr mai juin juil aout sept oct nov dec",
    "short es": "ene feb mar abr may jun jul ago sep oct nov dic",
    "short pt": "jan fev mar abr mai jun jul ago set out nov dez",
    "short ru": "янв фев мар апр май июн июл авг сен окт ноя дек",
    "sk": "januára februára marca apríla mája júna júla augusta septembra októbra novembra decembra",
    "bg": "януари февруари март април май юни юли август септември октомври ноември декември",
    "et": "jaanuar veebruar märts aprill mai juuni juuli august september oktoober november detsember",
    "lt": "sausio vasario kovo balandžio gegužės birželio liepos rugpjūčio rugsėjo spalio lapkričio gruodžio",
    "ar": "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
    "he": "בינואר בפברואר במרץ באפריל במאי ביוני ביולי באוגוסט בספטמבר באוקטובר בנובמבר בדצמבר",
    "th": "มกราคม กุมภาพันธ์ มีนาคม เมษายน พฤษภาคม มิถุนายน กรกฎาคม สิงหาคม กันยายน ตุลาคม พฤศจิกายน ธันวาคม",
    "vi": "1 2 3 4 5 6 7 8 9 10 11 12",
    "fi": "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta lokakuuta"
    " marraskuuta joulukuuta",
}  # fmt: skip
_FOREIGN = {
    "de": ("{d}. {m} {y}", "{d}. {m} {y}, 08:30 Uhr"),
    "fr": ("{d} {m} {y}", "{d} {m} {y} à 08:30"),
    "es": ("{d} de {m} de {y}", "{d} {m} {y}"),
    "it": ("{d} {m} {y}", "{d} {m} {y} 08:30"),
    "pt": ("{d} de {m} de {y}", "{d} {m} {y}"),
    "nl": ("{d} {m} {y}", "vrijdag {d} {m} {y} 08:30"),
    "da": ("{d}. {m} {y}",),
    "sv": ("{d} {m} {y} kl. 14:30",),
    "pl": ("{d} {m} {y}",),
    "cs": ("{d}. {m} {y}",),
    "ru": ("{d} {m} {y} г.",),
    "tr": ("{d} {m} {y}",),
    "fi": ("{d}. {m} {y}", "perjantai {d}. {m} {y}"),
    "no": ("{d}. {m} {y}", "lørdag {d}. {m} {y}"),
    "ro": ("{d} {m} {y}",),
    "uk": ("{d} {m} {y}",),
    "hu": ("{y}. {m} {d}.",),
    "plain de": ("{d}. {m} {y}",),
    "plain fr": ("{d} {m}. {y}", "ven. {d} {m}. {y}"),
    "short es": ("{d} de {m}. de {y}", "vie, {d} {m} {y}"),
    "short pt": ("{d} de {m}. de {y}", "sexta-feira, {d} de {m} de {y}"),
    "short ru": ("пт, {d} {m} {y}",),
    **dict.fromkeys(("bg", "ar", "he"), ("{d} {m} {y}",)),
    **dict.fromkeys(("sk", "et"), ("{d}. {m} {y}",)),
    "lt": ("{y} m. {m} {d} d.",),
    "th": ("{d} {m} {b}", "{d} {m} พ.ศ. {b}", "{b}-{n:02}-{d:02} BE"),
    "vi": ("{d} tháng {m}, {y}", "Ngày {d} tháng {m} năm {y}"),
}
# Names of members in which texts and numbers are times.
NAMES = ("updated", "lastEdit", "date_modified", "updatedAt", "modified_utc", "timestamp", "pubDate", "Last Refreshed")


def true_values(moment):
    """Return an instant in every format, as pairs of a member's name and its value."""
    texts = [moment.strftime(form) for form in _STRFTIME]
    texts += [label.format(moment.strftime(form)) for label in _LABELLED[:6] for form in _LABELLED_FORMS]
    for language, forms in _FOREIGN.items():
        month = _MONTHS[language].split()[moment.month - 1]
        parts = {"d": moment.day, "m": month, "n": moment.month, "y": moment.year, "b": moment.year + 543}
        texts += [form.format(**parts) for form in forms]
    texts += [f"{moment:%Y-%m-%d}/{moment:%Y-%m-%d}", f"{moment:%b %d, %Y} - {moment:%b %d, %Y}"]
    pairs = [(("note", "x", "fresh", "v1")[number % 4], text) for number, text in enumerate(texts)]
    seconds = int(moment.timestamp())
    counts = [seconds, seconds * 1000, seconds * 10**6, seconds * 10**9, seconds + 0.25, str(seconds), f"{seconds}.5"]
    counts += [str(seconds * 1000), int(moment.strftime("%Y%m%d")), int(moment.strftime("%Y%m%d%H%M%S"))]
    pairs += [(name, count) for name in NAMES for count in counts]
    days = (moment - datetime(1899, 12, 30, tzinfo=timezone.utc)).days
    iso, millis = moment.isoformat(), seconds * 1000
    parts = {"year": moment.year, "month": moment.month, "day": moment.day}
    objects = [
        {"_seconds": seconds, "_nanoseconds": 0}, {"seconds": str(seconds), "nanos": 5}, {"$date": iso},
        {"$date": {"$numberLong": str(millis)}}, {"$timestamp": {"t": seconds, "i": 1}}, parts,
        {"date": parts, "time": {"hour": 8}}, {"raw": seconds, "fmt": f"{moment:%Y-%m-%d}"}, {"dateTime": iso},
        {"date": f"{moment:%Y-%m-%d} 08:00:00.000000", "timezone_type": 3, "timezone": "UTC"},
        {"epochSecond": seconds, "nano": 0}, {"value": iso, "by": "somebody"}, [moment.year, moment.month, moment.day],
        [moment.year, moment.month, moment.day, 8, 30, 0], ["2024-01-02", iso], {"at": seconds, "by": 7},
        json.dumps({"updated": iso}), json.dumps([{"a": {"edited": f"{moment:%b %d, %Y}"}}]),
        json.dumps({"x": json.dumps({"y": iso})}), f"/Date({millis})/", f"/Date({millis}-0500)/", f'ISODate("{iso}")',
        f"new Date({millis})", f"datetime.datetime({moment.year}, {moment.month}, {moment.day}, 8, 30)", days,
        days + 0.5, f"datetime.date({moment.year}, {moment.month}, {moment.day})",
        {"date-parts": [list(parts.values())]}, {"seconds": seconds},
        {"low": millis & 0xFFFFFFFF, "high": millis >> 32, "unsigned": False},
        {name: str(part) for name, part in parts.items()}, parts | {"month": f"{moment:%B}"}, f"@{seconds}",
        seconds * 10**7 + 621_355_968 * 10**9, seconds * 10**7 + 116_444_736 * 10**9, float(f"{moment:%Y%m%d}"),
        int(f"{moment:%Y%m%d%H%M}"), days + 2_415_018.5,
    ]  # fmt: skip
    row = json.dumps({"updated": iso})
    pairs += [
        ("x", value)
        for value in (
            {"seconds": seconds}, {"key": "updated", "value": seconds}, [{"name": "lastEdit", "value": str(seconds)}],
            {"columns": ["timestamp", "v"], "data": [[seconds, 2]]}, {str(seconds): 1}, {str(millis): 1.5},
            [[millis - 9, 1.5], [millis, 1.6]], f"{row}\n{row}", f"data: {row}", f"callback({row});", json.dumps(row),
            f"\ufeff{row}", str({"updated": iso}), f"date,close\n2024-01-02,1\n{moment:%Y-%m-%d},2",
            f"close\tupdated\n1\t{seconds}", f"| date | v |\n|---|---|\n| {moment:%b %d, %Y} | 3 |",
            f"# Bars\n\n| date | v |\n|---|---|\n| {moment:%b %d, %Y} | 3 |\n\nSource: N",
            f'id,Updated,Note\n1,"{moment:%b %d, %Y}","a, b"\n2,,c', f"Bars\n{moment:%Y-%m-%d}   1.5   2.5\n" * 2,
            f"<table><tr><th>A</th><th></th></tr><tr><td>1</td><td>{moment:%b %d, %Y}</td></tr></table>",
            f"a\n- Last updated: {iso}\nb",
            f"<item><pubDate>{iso}</pubDate></item>", f'<time datetime="{iso}">Friday</time>',
            f'<row LastEdit="{iso}"/>',
            str([(1, moment)]), str([{"a": moment}]), f"numpy.datetime64('{iso[:19]}')",
            f"Timestamp('{iso}', tz='UTC')",
            f"Date({moment.year},{moment.month - 1},{moment.day})",
            {"columns": ["v"], "index": [seconds], "data": [[1]]},
            {"columns": [{"name": "updated"}], "rows": [[seconds]]}, {"column_names": ["Date"], "data": [[seconds]]},
            {"schema": {"fields": [{"name": "ts"}]}, "rows": [{"f": [{"v": f"{seconds:.9E}"}]}]},
            [[seconds - 9, "1"], [seconds, "2"]], [[float(seconds), "1"], [seconds - 9.5, "2"]], [[str(millis), "1.5"]],
            [[millis * 1000, 1]], [["updated", seconds]], {"Name": "LastModified", "Value": str(seconds)},
            {"year": f"{moment.year}", "period": f"M{moment.month:02}", "periodName": f"{moment:%B}"},
        )
    ]  # fmt: skip
    pairs += [(name, value) for name in ("updated", "edited_at") for value in objects]
    pairs += [("data", value) for value in objects[:5] + objects[16:20]]
    pairs += [("history", {text: 1}) for text in texts[:20]]
    names = ("reported", "sold", "last_paid", "expiry", "due_by", "lastupdate", "lastmodifieddate", "created_at_i")
    pairs += [(name, count) for name in names for count in (*counts[:7], {"N": str(seconds)})]
    pairs += [
        ("SQLDATE", counts[8]), ("touched", counts[9]), ("value", [seconds + 0.5, "1"]), ("sent", [seconds, seconds]),
        ("points", [[1.5, seconds - 9], [2, seconds]]), ("grid", [["Date", "v"], [days + 0.5, 2]]),
        ("log", f"level=info ts={iso} v=1"), ("updated", f"{seconds}.000000000 1440"),
    ]  # fmt: skip
    return pairs + [("body", text) for text in _texts(moment, f"{moment:%B} {moment.day}, {moment.year}")]


def _texts(moment, day):
    """Return texts that say when they were published or changed."""
    iso, mail = moment.isoformat(), f"{moment:%a, %d %b %Y %H:%M:%S +0000}"
    lines = [
        f"Published: {day} at 8:05 a.m. ET", f"Published {day} 8:05 AM | Updated {day} 9:05 AM", f"Posted {day} by Jo",
        f"First published on {day}", f"By Jane Doe | {day} 8:05 AM ET", f"By Jane Doe\n{day}", f"**Published:** {day}",
        f"Veröffentlicht am {moment:%Y-%m-%d}", f"公開日：{moment:%Y年%m月%d日}", f"发布时间：{moment:%Y-%m-%d}",
        f"Date: {mail}", f"- title: x\n  updated: {moment:%Y-%m-%d}  # by Jo", f"{iso} INFO x",
        f"Last-Modified: {mail}", f"---\ntitle: x\ndate: {moment:%Y-%m-%d}\n---",
        f"a:\n    b:\n      - edited_at: '{iso}'",
        f"+++\ndate = {iso}\n+++", f"1.2.3.4 - - [{moment:%d/%b/%Y:%H:%M:%S +0000}] GET",
    ]  # fmt: skip
    return [f"Northwind falls\n{line}\nShares fell." for line in lines] + [
        f"NEW YORK, {day} (Reuters) - Northwind falls", f"Bonn, {moment:%d %B %Y} /PRNewswire/ -- Northwind falls",
        f"SEATTLE--(BUSINESS WIRE)--{day}--Northwind falls", f"ROME / ACCESSWIRE / {day} / Northwind falls",
        f'<head><meta property="article:published_time" content="{iso}"></head>', f'<p class="date">{day}</p>',
        f'<script>{{"@type": "A", "dateModified": "{iso}"}}</script>', f"<dt>Published</dt><dd>{day}</dd>",
    ]  # fmt: skip


NO_TIMES = _listed("""
may|march|May|sat|10-K|10-Q|8-K|S-1|13F-HR|3/4|1/2|24/7|9-5|Section 16|Section 12(b)|Item 2.02|Rule 144|Q3|1Q|FY
S&P 500|Russell 2000|Nasdaq 100|MSCI World|version 2.0|v1.2.3|1.2.3|10.1.2.3|192.168.0.1|555-0199|+1 212 555 0100
(212) 555-0100|0000320193-24-000002|001-36743|333-174|CUSIP 037833100|US0378331005|AAPL|AAPL240216C00190000X|12:30
8 am|16:30 ET|5 min|PT5M|P1D|2 for 1|10-for-1|4:1|1-for-20 reverse split|50%|1.5x|3.14|-12.5|1,234,567|$2,024
€16.02|2.16.24.8|16 of 24|page 2 of 16|first half|second quarter|third|twelve months|May be|will march
in august company|Mar-a-Lago|Dec|Augusta|June Smith|April Jones|Jan van der Berg|August Home|October Films
Sunday Times|Friday Night|mon ami|sat nav|set 5|out 3|apr 4.5%|APR 19.9%|out of 10|Level 3|Model 3|Boeing 747|A320
F-150|iPhone 15|Windows 11|COVID-19|G7|G20|5G|401(k)|1099-DIV|W-2|K-1|Title 17|Chapter 11|B-1|24-hour|7-Eleven|3M
20/20|50/50|1/1|2/2|100/5|16-bit|2x4|4x4|1080p|8K|ISO 9001|RFC 2822|UTF-8|0x1F|1e9|6.02e23|#16|No. 2|2nd|New York
Paris|12 Main Street|Suite 200|10 Downing St|NY 10001|90210|PO Box 24|47.6, -122.3|Route 66|Interstate 5|Gate 16
2B|hello|prose without digits|the year of the cat|time flies|date palm|update your app|a candidate|sentiment: 0.8
up to date|daily|2024-25 season|class of 24|twenty twenty|20 Feb|Feb 20|16 February|02-16|2/16|16.02.|Feb|week 7
day 47|Q1|H1|FY24|1H24|CY|Revenue rose 16% to $2.0 billion|Apple beats by 3 cents|Fed holds rates|2 killed in fire
Top 10 stocks|5 things to know|1 in 4|EPS of 2.18 vs 2.10|Buy 16 Feb calls|price target 200|up 2.5 points|300ms
10 days|1-2 weeks|two hours|30 min read|1Day|1h|15m|5:4 win|3-2-1|1-0|6-4, 7-5|21 Jump Street|9 to 5|Area 51
Catch-22|Studio 54|Ocean's 11|Fahrenheit 451|2001: A Space|7 Up|99.9|b16f2024ac|deadbeef|16a02b24|abc-2024-def
e2024|2024a|A2024|ref 20240|123456|1234567|123456789012|000000|99999999|00000000|20241301|20240230|13/13/13
99/99/9999|2024-13-45|2024-02-30|32.01.2024|0000-00-00|00/00/0000|31/31/31|2024-00-00
""")
NO_TIMES += _listed("""
[1] See note 2|{x}|[Update] Apple rises 3%|Hello, world 5|K-mart 20|R6.3.15|令和|1:2:3|Sa 3|Mo 12|{"a": 1}
[[1, 2], [3, 4]]|name,shares|12-15 and 20|data: none|20991231999999|16-18 & 20
""")
NO_TIMES += [f"{number}-{letter}" for number in (10, 16, 20, 24) for letter in "KQABCDEF"]
NO_TIMES += [f"Section {number}" for number in range(1, 25)]
NO_TIMES += [f"{over}/{under}" for over in range(1, 8) for under in range(2, 8)]


def later_and_earlier(chance):
    """Return an instant in the year after the cut-off worlds.AS_OF, and one in the year before it."""
    cut_off = datetime(2024, 2, 15, 21, tzinfo=timezone.utc)
    later = cut_off + timedelta(days=chance.randint(3, 360), minutes=chance.randint(1, 600))
    earlier = cut_off - timedelta(days=chance.randint(3, 360), minutes=chance.randint(1, 600))
    return later, earlier
