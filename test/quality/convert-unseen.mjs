/**
 * Markdown of labelled pages by forests that have not seen their sites: an extractor for the scorer's `--cmd`.
 *
 *   node test/quality/convert-unseen.mjs [WORK_DIR]     (JSON lines in, JSON lines out)
 *
 * WORK_DIR is that of train_blocks.py; without it the forests of the data file convert, by the same steps.
 */
import { unseenModels } from './folds.mjs';
import { lineOf, lines } from './json-lines.mjs';
import { compiled } from './kit.mjs';

const { parseHtml } = await compiled('html/parse.js');
const { wholePage } = await compiled('main-content/selection.js');
const { measure } = await compiled('html/measures.js');
const { selectMainContent } = await compiled('main-content/main-content.js');
const { writeMarkdown } = await compiled('content/markdown/markdown.js');
const { UrlResolver } = await compiled('content/url-resolver.js');
const { baseHref } = await compiled('content/metadata/metadata.js');

const work = process.argv[2];
const models = work === undefined ? new Map() : unseenModels(work);

/** @param {{ id: string, url: string, html: string }} page */
function convert({ id, url, html }) {
  const isFragment = id.startsWith('cmark-');
  if (work !== undefined && !isFragment && !models.has(id)) throw new Error(`${work} has no forest for the page ${id}`);
  const tree = parseHtml(html);
  const whole = wholePage(tree);
  const main = isFragment ? null : selectMainContent(tree, whole, measure(tree, whole), models.get(id));
  const options = { urls: new UrlResolver(url, baseHref(tree)), removeBase64Images: true };
  return { id, markdown: writeMarkdown(tree, main?.mask ?? whole, options), metadata: {}, estimate: main?.estimate };
}

for await (const line of lines()) {
  if (line !== '') process.stdout.write(`${lineOf(convert(JSON.parse(line)))}\n`);
}
