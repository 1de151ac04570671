/** Which language a text is written in: by its script, and in Latin script by words that every text has. */

/** Scripts that tell the language, or its family, alone. Japanese and Korean texts hold Han, too: they come first. */
const SCRIPTS = /** @type {const} */ ([
  ['ja', /[\p{Script=Hiragana}\p{Script=Katakana}]/gu, 0.1],
  ['ko', /\p{Script=Hangul}/gu, 0.2],
  ['zh', /\p{Script=Han}/gu, 0.2],
  ['ar', /\p{Script=Arabic}/gu, 0.3],
  ['he', /\p{Script=Hebrew}/gu, 0.3],
  ['ru', /\p{Script=Cyrillic}/gu, 0.3],
  ['el', /\p{Script=Greek}/gu, 0.3],
  ['th', /\p{Script=Thai}/gu, 0.3],
  ['hi', /\p{Script=Devanagari}/gu, 0.3],
]);
/** Words that few other languages have. */
const STOP_WORDS = /** @type {Record<string, string>} */ ({
  en: 'the and of to in is that for with on was are this it be you as at by from have not',
  de: 'der die und das ist nicht mit den von zu ein eine auch sich auf für dem im wir werden wird sind',
  fr: 'le la les et des du est une pour dans que qui sur pas au avec plus ce sont par',
  es: 'el la los las y que de en un una es por con para del se su más como pero',
  it: 'il la le e di che un una per non con del della sono gli nel alla si anche più',
  pt: 'o os as e que de um uma não com para do da em por mais dos das são ao',
  nl: 'de het een en van is dat niet te op met voor zijn aan ook er maar bij',
  pl: 'nie się jest że jak przez dla ale są tym oraz które od jego może być na do',
  cs: 'že jsou také který nebo jako ale při není jsem podle však jeho byl byla které pro na se',
  sv: 'och att det som en är på för inte med av den till har ett om var',
  da: 'og at det er en den til på for af ikke med der har et jeg kan',
  tr: 've bir bu için ile da de olarak daha çok gibi olan ne kadar',
  hu: 'és hogy nem egy ez csak mint már volt még kell lehet vagy amely nagyon azt itt',
  ro: 'și în nu cu pe este din care pentru mai sunt că sau ale fost această',
  id: 'yang dan di dengan untuk dari ini pada tidak ke itu adalah akan dalam',
  fi: 'ja ei että oli mutta kun myös ovat niin joka tai hän',
});
const RIGHT_TO_LEFT = new Set(['ar', 'he']);
const MAX_CHARS = 20_000;
/** Share of the words of a text that have to be stop words of its language. */
const LEAST_STOP_WORDS = 0.05;
const LEAST_WORDS = 5;

const SETS = Object.entries(STOP_WORDS).map(([language, list]) => ({ language, words: new Set(list.split(' ')) }));

/** @param {string} text @returns {string} language code; `ar` and `ru` stand for all of their script; `?` when unclear */
export function languageOf(text) {
  const sample = text.slice(0, MAX_CHARS);
  const letters = sample.match(/\p{L}/gu)?.length ?? 0;
  for (const [language, pattern, share] of SCRIPTS) {
    if ((sample.match(pattern)?.length ?? 0) > letters * share) return language;
  }
  const words = sample.toLowerCase().match(/\p{L}+/gu) ?? [];
  if (words.length < LEAST_WORDS) return '?';
  const shares = SETS.map(({ language, words: stop }) => {
    return { language, share: words.filter((word) => stop.has(word)).length / words.length };
  });
  const best = shares.reduce((a, b) => (b.share > a.share ? b : a));
  return best.share < LEAST_STOP_WORDS ? '?' : best.language;
}

/** @param {string} html @returns {string | null} two letters of the `lang` of its root */
export function declaredLanguage(html) {
  return /<html\s(?:[^>]{0,500}\s)?lang\s*=\s*["']?([a-z]{2})(?![a-z])/i.exec(html)?.[1]?.toLowerCase() ?? null;
}

/** @param {string} language */
export const isRightToLeft = (language) => RIGHT_TO_LEFT.has(language);
