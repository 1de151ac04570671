/** Labels that contradict what the page itself says of its parts. */

/**
 * @typedef {object} LabelledPage
 * @property {string} id
 * @property {string} dataset
 * @property {string} type
 * @property {string[]} blocks text of each
 * @property {(string | null)[]} landmarks per block: the `nav`, `footer` or `aside` that it stands in
 * @property {{ name: string, from: number, to: number } | null} body blocks of the only article, else of the only main
 */
/**
 * @typedef {object} Contradiction
 * @property {string} id of the page
 * @property {string} dataset
 * @property {string} type
 * @property {'content' | 'gap'} kind `content`: main content in a landmark; `gap`: none of it in the middle of the body
 * @property {string} where the landmark, or the element that is the body
 * @property {number} block
 * @property {number} words
 * @property {string} text its beginning
 */

/** A block with this share of its words in the checked text is content. */
const CONTENT = 0.5;
const SHOWN_CHARS = 100;

/** @param {string} text */
const countWords = (text) => text.split(/\s+/).filter((word) => word !== '').length;

/**
 * @param {LabelledPage} page
 * @param {ArrayLike<number>} labels per block: share of it that is content, below 0 where nothing is known
 * @returns {Contradiction[]} in the order of the page
 */
export function findContradictions({ id, dataset, type, blocks, landmarks, body }, labels) {
  const isContent = blocks.map((_, block) => Number(labels[block]) >= CONTENT);
  const first = isContent.indexOf(true, body?.from ?? 0);
  const last = isContent.lastIndexOf(true, (body?.to ?? 0) - 1);
  return blocks.flatMap((text, block) => {
    const landmark = landmarks[block] ?? null;
    const told = { id, dataset, type, block, words: countWords(text), text: text.trim().slice(0, SHOWN_CHARS) };
    if (landmark !== null)
      return isContent[block] ? [{ ...told, kind: /** @type {const} */ ('content'), where: landmark }] : [];
    const isNone = Number(labels[block]) >= 0 && !isContent[block];
    const isBetween = body !== null && first >= 0 && first < block && block < last;
    return isNone && isBetween ? [{ ...told, kind: /** @type {const} */ ('gap'), where: body.name }] : [];
  });
}

/** @param {Contradiction[]} all @returns {string} blocks and words by data set and page type, then the pages of each */
export function contradictionReport(all) {
  const groups = new Map();
  for (const one of all) {
    const key = `${one.dataset}/${one.type}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  const columns = ['nav', 'footer', 'aside', 'gap'];
  const head = [...columns.map((name) => (name === 'gap' ? 'in body' : name)), 'words', 'pages'];
  const rows = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  const counts = rows.map(([key, found]) => {
    const cells = columns.map(
      (name) => found.filter((one) => (one.kind === 'gap' ? 'gap' : one.where) === name).length,
    );
    const words = found.reduce((sum, one) => sum + one.words, 0);
    return [key, ...cells, words, countPages(found).size];
  });
  const table = [['data set/type', ...head], ...counts].map(([name, ...cells]) => {
    return `${String(name).padEnd(24)}${cells.map((cell) => String(cell).padStart(9)).join('')}`;
  });
  const pages = ['content', 'gap'].flatMap((kind) => [
    '',
    kind === 'content'
      ? 'Content inside of nav, footer or aside, blocks per page:'
      : 'No content amid the body, blocks per page:',
    ...rows.map(([key, found]) => pagesLine(key, countPages(found.filter((one) => one.kind === kind)))).filter(Boolean),
  ]);
  return [...table, ...pages].join('\n');
}

/** @param {Contradiction[]} found @returns {Map<string, number>} blocks by page */
function countPages(found) {
  const pages = new Map();
  for (const { id } of found) pages.set(id, (pages.get(id) ?? 0) + 1);
  return pages;
}

/** @param {string} key @param {Map<string, number>} pages */
function pagesLine(key, pages) {
  return pages.size === 0 ? '' : `  ${key}: ${[...pages].map(([id, blocks]) => `${id} (${blocks})`).join(', ')}`;
}
