/** Blocks of a page as the trainer sees them. Needs a compiled tree. */
import { compiled } from './kit.mjs';

const { parseHtml } = await compiled('html/parse.js');
const { wholePage } = await compiled('main-content/selection.js');
const { measure } = await compiled('html/measures.js');
const { Blocks, CONTEXT } = await compiled('main-content/blocks.js');
const { FeatureReader, FEATURES, PAGE_FEATURES, headingLevels } = await compiled('main-content/block-features.js');

export { FEATURES, PAGE_FEATURES };

/** Landmarks that hardly ever hold main content. */
const LANDMARKS = ['nav', 'footer', 'aside'];

/**
 * @typedef {object} PageBlocks
 * @property {string[]} texts per block
 * @property {(string | null)[]} landmarks per block: the `nav`, `footer` or `aside` that it stands in, in this order
 * @property {{ name: string, from: number, to: number } | null} body blocks of the only article, else of the only main
 * @property {Float32Array} rows `FEATURES` of all blocks, block by block
 * @property {Float32Array} page `PAGE_FEATURES`
 */

/** @param {string} html @returns {PageBlocks} */
export function readBlocks(html) {
  const tree = parseHtml(html);
  const mask = wholePage(tree);
  const blocks = new Blocks(tree, mask, measure(tree, mask));
  const texts = Array.from({ length: blocks.count }, () => '');
  for (let node = 0; node < tree.count; node++)
    if (blocks.ofNode[node] >= 0) texts[blocks.ofNode[node]] += ` ${tree.text(node)}`;
  const reader = new FeatureReader(tree, blocks, headingLevels(tree, blocks));
  const columns = reader.read();
  const width = FEATURES.length;
  const rows = Float32Array.from(columns, (_, i) => columns[(i % width) * blocks.count + Math.floor(i / width)]);
  const landmarks = texts.map((_, block) => {
    const context = blocks.context[blocks.first[block]];
    return LANDMARKS.find((name) => (context & CONTEXT[name]) !== 0) ?? null;
  });
  return { texts, landmarks, body: findBody(tree, blocks), rows, page: reader.page };
}

/** @param {any} tree @param {any} blocks @returns {PageBlocks['body']} */
function findBody(tree, blocks) {
  for (const name of ['article', 'main']) {
    const outermost = [];
    for (let node = 1; node < tree.count; node++) {
      const holdsBlocks = blocks.before[node] < blocks.before[tree.end[node]];
      if (holdsBlocks && (blocks.context[node] & ~blocks.context[tree.parent[node]] & CONTEXT[name]) !== 0)
        outermost.push(node);
    }
    const [only] = outermost;
    if (outermost.length === 1) return { name, from: blocks.before[only], to: blocks.before[tree.end[only]] };
  }
  return null;
}
