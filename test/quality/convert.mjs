/**
 * The converter as a system for the scorer: a line `{id, url, html}` in, a line `{id, markdown, metadata, links, ms}` out.
 * Needs a compiled tree.
 */
import { lineOf, lines } from './json-lines.mjs';
import { compiled, linkRules } from './kit.mjs';

const { convertPage } = await compiled('content/index.js');
const { pageRequest } = await compiled('content/page-fixture.js');
const rules = await linkRules();

/** @param {{ id: string, url: string, html: string }} page */
function requestFor({ id, url, html }) {
  const plain = pageRequest(html);
  const formats = [{ type: 'markdown' }, { type: 'links' }];
  const onlyMainContent = !id.startsWith('cmark-'); // fragments without any main content, as the scorer asks through the API
  return { ...plain, url, spec: { ...plain.spec, formats, onlyMainContent }, metadata: {} };
}

/** @param {{ id: string, url: string, html: string }} page */
function convert(page) {
  const request = requestFor(page);
  const before = process.cpuUsage();
  const { document } = convertPage(request, rules);
  const { user, system } = process.cpuUsage(before);
  return { id: page.id, ...JSON.parse(Buffer.from(document).toString()), ms: (user + system) / 1000 };
}

for await (const line of lines()) {
  if (line !== '') process.stdout.write(`${lineOf(convert(JSON.parse(line)))}\n`);
}
