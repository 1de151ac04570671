/**
 * Markdown of labelled pages by forests that have not seen their sites: an extractor for the scorer's `--cmd`.
 *
 *   node test/quality/cross-validate.mjs WORK_DIR     (WORK_DIR of train_blocks.py; JSON lines in, JSON lines out)
 */
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { compiled } from './kit.mjs';

const { parseHtml } = await compiled('parse.js');
const { wholePage } = await compiled('selection.js');
const { measure } = await compiled('measures.js');
const { selectMainContent } = await compiled('main-content.js');
const { Forest } = await compiled('block-model.js');
const { writeMarkdown } = await compiled('markdown.js');
const { UrlResolver } = await compiled('url-resolver.js');
const { baseHref } = await compiled('metadata.js');

const models = new Map();
for (const file of fs.readdirSync(process.argv[2]).filter((name) => /^fold-\d+\.json$/.test(name))) {
  const { ids, types, blocks } = JSON.parse(fs.readFileSync(path.join(process.argv[2], file), 'utf8'));
  const model = {
    types: types.map((base64) => new Forest(base64)),
    blocks: new Forest(blocks),
  };
  for (const id of ids) models.set(id, model);
}
for await (const line of readline.createInterface({ input: process.stdin })) {
  if (line.trim() === '') continue;
  const { id, url, html } = JSON.parse(line);
  const tree = parseHtml(html);
  const whole = wholePage(tree);
  const main = selectMainContent(tree, whole, measure(tree, whole), models.get(id));
  const options = { urls: new UrlResolver(url, baseHref(tree)), removeBase64Images: true };
  const markdown = writeMarkdown(tree, main?.mask ?? whole, options);
  process.stdout.write(`${JSON.stringify({ id, markdown, metadata: {}, estimate: main?.estimate })}\n`);
}
