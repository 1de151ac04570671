/**
 * `node test/quality/parity.mjs [--json]`: text and links of the labelled pages, ours against parse5's. Needs a compiled tree.
 */
import { bytesOf, compiled, labels, whyNoKit } from './kit.mjs';

/** @returns {Promise<{ pages: number, otherText: string[], otherLinks: string[] }>} */
async function compare() {
  const { decodeBody } = await compiled('content/charset.js');
  const { parseHtml } = await compiled('html/parse.js');
  const { seenBy, seenByParse5 } = await compiled('html/parse5-fixture.js');
  const otherText = [];
  const otherLinks = [];
  let pages = 0;
  for (const label of labels()) {
    const html = decodeBody(bytesOf(label), null);
    const ours = seenBy(parseHtml(html));
    const theirs = seenByParse5(html);
    if (ours.text !== theirs.text) otherText.push(label.id);
    if (ours.links.join('\n') !== theirs.links.join('\n')) otherLinks.push(label.id);
    pages++;
  }
  return { pages, otherText, otherLinks };
}

/** @param {string} name @param {string[]} others @param {number} pages */
function line(name, others, pages) {
  const share = (100 * (pages - others.length)) / pages;
  return `${name} equal on ${share.toFixed(2)} %, not on ${others.join(' ') || 'none'}`;
}

const missing = whyNoKit();
if (missing !== null) {
  console.log(missing);
  process.exit(0);
}
const found = await compare();
if (process.argv.includes('--json')) console.log(JSON.stringify(found));
else console.log([line('text', found.otherText, found.pages), line('links', found.otherLinks, found.pages)].join('\n'));
