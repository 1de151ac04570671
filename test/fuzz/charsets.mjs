/** Pages in every encoding of the Encoding standard, declared right, wrongly or not at all. */
/** @typedef {import('./random.mjs').Random} Random */

export const CHARSETS = (
  'utf-8 ibm866 iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-8-i iso-8859-10 ' +
  'iso-8859-13 iso-8859-14 iso-8859-15 iso-8859-16 koi8-r koi8-u macintosh windows-874 windows-1250 windows-1251 ' +
  'windows-1252 windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 windows-1258 x-mac-cyrillic gbk gb18030 ' +
  'big5 euc-jp iso-2022-jp shift_jis euc-kr replacement utf-16be utf-16le x-user-defined ' +
  'latin1 ascii utf8 unicode iso-2022-kr utf-7 utf-32 cp437 none "" nonsense-9000 utf-16'
).split(' ');

const BOMS = [[0xef, 0xbb, 0xbf], [0xff, 0xfe], [0xfe, 0xff], []].map((bytes) => Buffer.from(bytes));

/** @param {Random} random @param {Buffer} page @returns {{ body: Buffer, contentType: string | null }} */
export function inSomeCharset(random, page) {
  const charset = random.pick(CHARSETS);
  const meta = random.chance(0.5) ? Buffer.from(`<meta charset="${charset}">`) : Buffer.alloc(0);
  const noise = Buffer.from(Array.from({ length: random.below(2000) }, () => random.below(256)));
  const body = Buffer.concat([random.pick(BOMS), meta, noise, page]);
  const contentType = random.chance(0.5) ? `text/html; charset=${charset}` : random.pick(['text/html', null]);
  if (!random.chance(0.2)) return { body, contentType };
  return { body: Buffer.from(body.toString('latin1'), 'utf16le'), contentType };
}
