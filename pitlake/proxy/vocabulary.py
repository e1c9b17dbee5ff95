"""Words in dates: months, weekdays and labels in many languages, without accents and in lower case."""

import unicodedata

# English, German, French, Spanish, Italian, Portuguese, Dutch, Danish, Norwegian, Swedish, Catalan, Romanian, Polish,
# Czech, Slovak, Croatian, Serbian, Slovene, Hungarian, Finnish, Estonian, Latvian, Lithuanian, Turkish, Indonesian,
# Russian, Ukrainian, Bulgarian, Greek, Arabic, Hebrew, Thai, and the Persian calendar's in Persian.
_MONTHS = """\
january jan januar jänner jaenner janvier janv enero ene gennaio gen janeiro januari gener ianuarie stycznia styczeń
 ledna leden siječnja tammikuuta tammikuu ocak oca января январь янв січня ιανουαρίου януари januara január januára
 jaanuar janvāris sausio يناير ינואר בינואר มกราคม فروردین
february feb februar feber février févr fév febrero febbraio fevereiro februari febrer februarie lutego luty února únor
 veljače helmikuuta helmikuu şubat şub февраля февраль фев февр лютого φεβρουαρίου февруари februara február februára
 veebruar februāris vasario فبراير פברואר בפברואר กุมภาพันธ์ اردیبهشت
march mar märz maerz mär mrz mars marzo março maart mrt marts marca marzec března březen març martie ožujka március
 maaliskuuta maaliskuu mart maret марта март мар березня μαρτίου marta märts marec kovo مارس מרץ במרץ มีนาคม
 خرداد
april apr avril avr abril abr aprile aprilie kwietnia kwiecień dubna duben travnja április huhtikuuta huhtikuu nisan
 nis апреля апрель апр квітня απριλίου април aprila apríl apríla aprill aprīlis balandžio أبريل ابريل אפריל באפריל
 เมษายน تیر
may mai mayo maggio mag maio mei maj maja maig května květen svibnja május toukokuuta toukokuu mayıs мая май травня
 μαΐου máj mája maijs gegužės مايو מאי במאי พฤษภาคม مرداد
june jun juni juin junio giugno giu junho juny iunie czerwca czerwiec června červen lipnja június kesäkuuta kesäkuu
 haziran haz июня июнь июн червня ιουνίου юни juna jún júna juuni jūnijs junij birželio يونيو יוני ביוני มิถุนายน
 شهریور
july jul juli juillet juil julio luglio lug julho juliol iulie lipca lipiec července červenec srpnja július heinäkuuta
 heinäkuu temmuz tem июля июль июл липня ιουλίου юли jula júl júla juuli jūlijs julij liepos يوليو יולי ביולי กรกฎาคม
 مهر
august aug août aou agosto ago augustus augusti agost sierpnia sierpień srpna srpen kolovoza augusztus elokuuta elokuu
 ağustos ağu agustus августа август авг серпня αυγούστου avgusta avgust augusta augusts rugpjūčio أغسطس אוגוסט באוגוסט
 สิงหาคม آبان
september sep sept septembre septiembre settembre set setembro setembre septembrie września wrzesień září rujna
 szeptember syyskuuta syyskuu eylül eyl сентября сентябрь сен сент вересня σεπτεμβρίου септември septembra septembris
 rugsėjo سبتمبر ספטמבר בספטמבר กันยายน آذر
october oct oktober okt octobre octubre ottobre ott outubro out octombrie października październik října říjen október
 lokakuuta lokakuu ekim eki октября октябрь окт жовтня οκτωβρίου октомври oktobra októbra oktoober oktobris spalio
 أكتوبر אוקטובר באוקטובר ตุลาคม
november nov novembre noviembre novembro noiembrie listopada listopadu listopad studenoga marraskuuta marraskuu kasım
 kas ноября ноябрь ноя листопада νοεμβρίου ноември novembra novembris lapkričio نوفمبر נובמבר בנובמבר พฤศจิกายน بهمن
december dec dezember dez décembre déc diciembre dic dicembre dezembro desember des desembre decembrie grudnia grudzień
 prosince prosinec prosinca joulukuuta joulukuu aralık ara декабря декабрь дек грудня δεκεμβρίου декември decembra
 detsember decembris gruodžio ديسمبر דצמבר בדצמבר ธันวาคม اسفند\
"""
_WEEKDAYS = """mon tue tues wed thu thur thurs fri sat sun monday tuesday wednesday thursday friday saturday sunday
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag mo di mi do fr sa so
    lundi mardi mercredi jeudi vendredi samedi dimanche lun mar mer jeu ven sam dim
    lunes martes miércoles jueves viernes sábado domingo mié jue vie sáb dom
    lunedì martedì mercoledì giovedì venerdì sabato gio sab
    segunda terça quarta quinta sexta feira seg ter qua qui sex
    maandag dinsdag woensdag donderdag vrijdag zaterdag zondag ma wo vr za zo
    mandag tirsdag onsdag torsdag fredag lørdag søndag måndag tisdag lördag söndag man tir ons tor tors fre lør søn
    poniedziałek wtorek środa czwartek piątek sobota niedziela pondělí úterý středa čtvrtek pátek neděle
    hétfő kedd szerda csütörtök péntek szombat vasárnap
    maanantai tiistai keskiviikko torstai perjantai lauantai sunnuntai
    pazartesi salı çarşamba perşembe cuma cumartesi pazar
    понедельник вторник среда четверг пятница суббота воскресенье пн вт ср чт пт сб вс
    月 火 水 木 金 土 日 月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日
    周一 周二 周三 周四 周五 周六 周日 星期一 星期二 星期三 星期四 星期五 星期六 星期日"""
_LABELS = """at of on the as by from to until since and date time last first update post effective st nd rd th er e de
    del der den dem am um uhr le à a m p pm h t w d fy cy thang nam ngay standard daylight summer local noon midnight
    il el o close data last trade through kl om op г року år zuletzt mis mise em às ah be ap sh هـ ه 年 時 时 点 點 分
    秒 년 월 일 시 분 초 午前 上午 오전 º"""
_PUBLICATION = """published posted released filed added created updated modified edited changed revised amended
    corrected dtstamp stand aktualisiert geändert veröffentlicht jour publié modifié actualizado publicado modificado
    aggiornato pubblicato atualizado bijgewerkt gepubliceerd opdateret uppdaterad oppdatert publisert publicerad
    zaktualizowano opublikowano aktualizováno publikováno frissítve julkaistu päivitetty güncellendi обновлено
    опубликовано 更新 更新日 最終更新 公開 公開日 发布 发布于 更新于"""


def without_accents(text: str) -> str:
    """Return a text with compatibility characters as their plain forms, and without accents."""
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", "".join(sign for sign in parts if unicodedata.category(sign) != "Mn"))


def _words(text: str) -> frozenset[str]:
    return frozenset(without_accents(text).lower().split())


MONTHS = {
    word: number for number, line in enumerate(_MONTHS.replace("\n ", " ").splitlines(), 1) for word in _words(line)
}
"""The number of each month by its names and abbreviations."""
WEEKDAYS, PUBLICATION = _words(_WEEKDAYS), _words(_PUBLICATION)
LABELS = _words(_LABELS) | PUBLICATION
