/** What must hold for whatever comes out of the converter. Every function throws with a sentence that names the fault. */

const VERDICTS = new Set(['content', 'shell', 'challenge', 'empty']);
/** Answers to a request, not accidents. */
const EXPECTED_CODES = new Set(['SCRAPE_UNSUPPORTED_FILE_ERROR']);

/** @param {unknown} condition @param {string} fault */
function must(condition, fault) {
  if (!condition) throw new Error(fault);
}

/** @param {unknown} value @param {string} where */
function checkStrings(value, where) {
  if (typeof value === 'string') must(value.isWellFormed(), `${where} has half a surrogate pair`);
  else if (Array.isArray(value)) value.forEach((entry, index) => checkStrings(entry, `${where}[${index}]`));
  else if (value !== null && typeof value === 'object')
    for (const [key, entry] of Object.entries(value)) {
      checkStrings(key, `a key of ${where}`);
      checkStrings(entry, `${where}.${key}`);
    }
}

/** @param {unknown} list @param {string} where */
function checkUrls(list, where) {
  must(Array.isArray(list), `${where} is no list`);
  const urls = /** @type {unknown[]} */ (list);
  must(new Set(urls).size === urls.length, `${where} has something twice`);
  for (const url of urls) must(typeof url === 'string' && URL.canParse(url), `${where} has ${String(url)}`);
}

/** @param {Record<string, unknown>} metadata */
function checkMetadata(metadata) {
  must(metadata !== null && typeof metadata === 'object', 'metadata is no object');
  for (const [key, value] of Object.entries(metadata)) {
    const isText = (/** @type {unknown} */ entry) => typeof entry === 'string';
    const isKnown = isText(value) || typeof value === 'number' || (Array.isArray(value) && value.every(isText));
    must(isKnown, `metadata.${key} is ${JSON.stringify(value)}`);
  }
}

/** @param {any} result @param {{ maxLinks: number, formats: string[] }} asked */
export function checkResult(result, { maxLinks, formats }) {
  must(VERDICTS.has(result.verdict), `the verdict is ${result.verdict}`);
  must(result.documentBytes === result.document.byteLength, 'documentBytes is wrong');
  const document = JSON.parse(Buffer.from(result.document).toString());
  for (const format of formats) must(format in document, `${format} is missing`);
  for (const format of ['markdown', 'html', 'rawHtml', 'warning'])
    if (format in document) must(typeof document[format] === 'string', `${format} is no text`);
  for (const format of ['links', 'images']) if (format in document) checkUrls(document[format], format);
  checkMetadata(document.metadata);
  checkStrings(document, 'document');
  checkStrings([result.title, result.refreshUrl, result.canonicalUrl], 'facts');
  must(result.outlinks.length <= maxLinks, 'more outlinks than asked for');
  checkUrls(
    result.outlinks.map((/** @type {{ url: string }} */ { url }) => url),
    'outlinks',
  );
}

/** Numbering, parents and ends of a tree. @param {any} tree */
export function checkTree(tree) {
  for (let node = 1; node < tree.count; node++) {
    const parent = tree.parent[node];
    must(parent >= 0 && parent < node, `node ${node} has parent ${parent}`);
    must(tree.end[node] > node && tree.end[node] <= tree.end[parent], `node ${node} ends at ${tree.end[node]}`);
  }
}

/** @param {any} error */
export function isExpected(error) {
  return EXPECTED_CODES.has(error?.code);
}
