import { createHash } from 'node:crypto';

export interface LandingWords {
  /** Address of this gateway without a trailing slash, as the browser reached it. */
  base: string;
  needsKey: boolean;
  hasDocs: boolean;
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1d2430; --dim: #5a6577; --paper: #f6f7f9; --card: #fff; --line: #dde2ea; --accent: #0b6e5f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8ecf2; --dim: #9aa6b8; --paper: #11151b; --card: #191f28; --line: #2b3442; --accent: #5fd3bd; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.6 system-ui, sans-serif; }
main { max-width: 44rem; margin: 0 auto; padding: 12vh 1.25rem 4rem; }
h1 { margin: 0; font-size: 2.25rem; letter-spacing: -.02em; }
h1 small { margin-left: .6rem; font-size: .875rem; font-weight: 500; letter-spacing: 0; color: var(--accent); }
h2 { margin: 2.25rem 0 .5rem; font-size: 1rem; }
p { margin: .5rem 0; }
.lead { font-size: 1.125rem; color: var(--dim); }
pre { margin: .75rem 0; padding: 1rem 1.25rem; overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; background: var(--card); line-height: 1.5; }
code { font: .875em/1.5 ui-monospace, monospace; }
a { color: var(--accent); }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
`;

/** Nothing is loaded, run, sent or framed. The page has only its one style, which the policy names by its hash. */
export const LANDING_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The page for a person who opens the gateway's address in a browser. */
export function landingPage({ base, needsKey, hasDocs }: LandingWords): string {
  const call = [
    ...(needsKey ? ['KEY=$(cat .troupe/api-key)'] : []),
    `curl -s ${base}/v2/scrape \\`,
    ...(needsKey ? ['  -H "Authorization: Bearer $KEY" \\'] : []),
    "  -H 'Content-Type: application/json' \\",
    `  -d '{"url":"https://example.com","formats":["markdown"]}'`,
  ].join('\n');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Troupe</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Troupe<small>is running</small></h1>
<p class="lead">A web crawler cluster that speaks the Firecrawl HTTP API: it scrapes a page, crawls a site or maps its addresses, and gives markdown, HTML, links, screenshots or structured data.</p>
<h2>The key</h2>
${needsKey ? KEY : NO_KEY}
<h2>A first page</h2>
<pre><code>${escapeHtml(call)}</code></pre>
<h2>More</h2>
${hasDocs ? DOCS : NO_DOCS}
<p>Firecrawl’s own clients work when their base address is <code>${escapeHtml(base)}</code>.</p>
</main>
</body>
</html>
`;
}

const KEY = `<p><code>npm start</code> prints the API key and keeps it in the file <code>.troupe/api-key</code> of the folder it was started in (with <code>TROUPE_DATA_DIR</code>: <code>api-key</code> there). Whoever runs another kind of installation hands its keys out.</p>`;
const NO_KEY = `<p>None is needed: this cluster runs with <code>AUTH_MODE=none</code>.</p>`;
const DOCS = `<p><a href="/docs">/docs</a> describes every call and lets you try it; <a href="/openapi.json">/openapi.json</a> is the same for programs.</p>`;
const NO_DOCS = `<p>The calls live under <code>/v2</code>; their description is switched off here (<code>API_DOCS=false</code>).</p>`;

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign]!);
}
