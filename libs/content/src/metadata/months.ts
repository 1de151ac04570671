/** Names of months: number by lower-case name, abbreviations included. */
const NAMES: Readonly<Record<number, string>> = {
  1: 'january jan januar jänner janner jän januari janvier janv enero ene janeiro gennaio gen stycznia styczeń sty ledna leden led ocak oca января январь янв januára январе ianuarie január tammikuu',
  2: 'february feb februar februari febr février fevrier févr fév febrero fevereiro fev febbraio lutego luty lut února únor úno şubat şub февраля февраль фев февр február helmikuu',
  3: 'march mar märz marz mrz maart mrt mars marzo março marco marzec marca března březen bře mart марта март marts március maaliskuu',
  4: 'april apr avril avr abril abr aprile kwietnia kwiecień kwi dubna duben dub nisan nis апреля апрель апр április huhtikuu',
  5: 'may mai mei mayo maio maggio mag maja maj května květen kvě mayıs мая май május toukokuu',
  6: 'june jun juni juin junio junho giugno giu czerwca czerwiec cze června červen čvn haziran haz июня июнь июн június kesäkuu',
  7: 'july jul juli juillet juil julio julho luglio lug lipca lipiec lip července červenec čvc temmuz tem июля июль июл július heinäkuu',
  8: 'august aug augustus août aout agosto ago sierpnia sierpień sie srpna srpen srp ağustos ağu августа август авг augusztus elokuu',
  9: 'september sep sept septembre septiembre setiembre setembro set settembre września wrzesień wrz září zář eylül eyl сентября сентябрь сен сент szeptember syyskuu',
  10: 'october oct oktober okt octobre octubre outubro out ottobre ott października październik paź října říjen říj ekim eki октября октябрь окт október lokakuu',
  11: 'november nov novembre noviembre novembro listopada listopad lis lis kasım kas ноября ноябрь ноя нояб marraskuu',
  12: 'december dec dezember dez décembre decembre déc diciembre dic dezembro dicembre grudnia grudzień gru prosince prosinec pro aralık ara декабря декабрь дек joulukuu',
};

const MONTHS = new Map<string, number>();
for (const [month, names] of Object.entries(NAMES))
  for (const name of names.split(' ')) MONTHS.set(name, Number(month));

/** 1 to 12, 0 when the word (lower case) is no month. */
export function monthOf(word: string): number {
  return MONTHS.get(word) ?? 0;
}
