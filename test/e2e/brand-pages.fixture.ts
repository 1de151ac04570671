/** Start pages of three brands that do not exist. What they look like is known, since it is written here. */

const MARK =
  '<svg class="logo" width="120" height="32" viewBox="0 0 120 32" role="img" aria-label="Nightowl"><path fill="currentColor" d="M0 0h120v32H0z"/></svg>';

/** Light, corporate: a serif for headings, blue buttons, an orange accent, a table of cards. */
const CORPORATE = `<!doctype html><html lang="en"><head><title>Meridian Freight | Shipping without surprises</title>
<meta property="og:site_name" content="Meridian Freight"><meta property="og:image" content="/share.png">
<link rel="icon" href="/favicon.png" sizes="32x32"><link rel="apple-touch-icon" href="/touch.png" sizes="180x180">
<style>
  body { margin: 0; background: #ffffff; color: #1f2937; font: 400 16px/1.6 "Source Sans 3", Arial, sans-serif; }
  header { background: #f3f4f6; padding: 16px 24px; height: 48px; display: flex; gap: 24px; align-items: center; }
  h1, h2, h3 { font-family: "Merriweather", Georgia, serif; font-weight: 700; line-height: 1.25; margin: 0 0 16px; color: #111827; }
  h1 { font-size: 48px; } h2 { font-size: 32px; } h3 { font-size: 24px; }
  p { margin: 0 0 16px; } p.note { color: #6b7280; } small { font-size: 14px; }
  main { max-width: 1120px; margin: 0 auto; padding: 0 24px; }
  section { padding: 64px 0; }
  main a { color: #0b5fff; }
  .btn { display: inline-block; border-radius: 8px; padding: 12px 24px; text-decoration: none; transition: background 0.2s ease-in-out; border: 1px solid; }
  main a.btn-main { background: #0b5fff; color: #ffffff; border-color: #0b5fff; }
  main a.btn-other { background: transparent; color: #0b5fff; border-color: #0b5fff; }
  .cards { display: grid; grid-template-columns: repeat(3, 1fr); gap: 32px; }
  .card { border: 1px solid #e5e7eb; border-radius: 8px; padding: 24px; }
  .ribbon { background: #ff7a00; color: #ffffff; padding: 48px 24px; }
  input { border: 1px solid #9ca3af; border-radius: 8px; padding: 8px 16px; font: inherit; transition: border-color 0.3s; }
  input:focus { border-color: #0b5fff; outline: none; }
  code { font-family: "IBM Plex Mono", monospace; }
  .alert-success { color: #15803d; } .alert-error { color: #b91c1c; }
  footer { background: #111827; color: #d1d5db; padding: 32px 24px; height: 96px; }
</style></head><body>
<header><a class="home" href="/corporate"><img src="/wordmark.png" alt="Meridian Freight logo" width="160" height="40"></a>
  <nav><a href="/rates">Rates</a> <a href="/about">About</a></nav></header>
<main>
  <section><h1>Shipping without surprises</h1><p>Fixed rates for every port between Lisbon and Tallinn, with <a href="/terms">terms that fit on one page</a>.</p>
    <p class="note">Prices are checked every morning by people who know the harbours.</p>
    <a class="btn btn-main" href="/quote">Get a quote</a> <a class="btn btn-other" href="/tour">Take the tour</a></section>
  <section><h2>Why us</h2><div class="cards">
    <div class="card"><h3>On time</h3><p>Nine of ten loads arrive on the day that was promised, and we pay for the tenth.</p></div>
    <div class="card"><h3>Insured</h3><p>Every load is insured at its full value, without a form to fill in.</p></div>
    <div class="card"><h3>Tracked</h3><p>Call <code>GET /loads/42</code> and you know where it is.</p></div></div></section>
  <section class="ribbon"><p>Forty ports, one price list.</p></section>
  <section><h2>Ask us</h2><p class="alert-success">We answer today.</p><p class="alert-error">Closed on Sundays.</p>
    <form><input type="email" placeholder="you@example.test"></form><p><small>No newsletters, ever, and that is a promise.</small></p></section>
  <section class="clients"><img src="/client.png" alt="Client logo" width="100" height="40"></section>
</main><footer>Meridian Freight, Pier 4</footer></body></html>`;

/** Dark: painted by an inner element, gradient button, drawn logo. */
const DARK = `<!doctype html><html><head><title>Nightowl: monitoring for small teams</title><link rel="icon" href="/owl.svg" type="image/svg+xml">
<style>
  html, body { margin: 0; } body { font: 15px/1.5 Inter, sans-serif; }
  #app { background: #0b0f19; color: #e5e7eb; min-height: 100vh; padding: 0 20px 20px; }
  h1 { font-size: 60px; font-weight: 800; line-height: 1.1; margin: 0 0 20px; color: #ffffff; }
  p { margin: 0 0 20px; } .faint { color: #94a3b8; }
  a { color: #22d3ee; }
  button { border: 0; border-radius: 999px; padding: 10px 20px; font: inherit; background: linear-gradient(90deg, #7c3aed, #db2777); color: #ffffff; }
  button.secondary { background: #1e293b; }
  .head { padding: 20px 0; color: #ffffff; }
</style></head><body><div id="app"><div class="head"><a href="/dark" style="color: #ffffff">${MARK}</a></div>
  <h1>Sleep through the night</h1>
  <p>Nightowl watches your servers and wakes you only when something is really wrong with them.</p>
  <p>Read <a href="/how">how it tells noise from trouble</a> before you try it.</p>
  <p class="faint">No agents to install, nothing to configure, and nobody to call for a price.</p>
  <button class="primary">Start watching</button> <button class="secondary">See a demo</button></div></body></html>`;

/** Next to nothing: black on white, and custom properties. */
const MINIMAL = `<!doctype html><html><head><title>Folio</title><style>
  :root { --color-primary: #be123c; --secondary-color: hsl(210 50% 20%); --accent: 14 116 144; --color-warning: #ca8a04; --bs-success: #198754; }
  body { color: #18181b; font-family: Georgia, serif; font-size: 18px; }
  h1 { border-bottom: 4px solid var(--color-primary); }
</style></head><body><h1>Folio</h1><p>Poems, printed by hand, one at a time.</p></body></html>`;

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

export const BRAND_PAGES: Record<string, string> = { '/corporate': CORPORATE, '/dark': DARK, '/minimal': MINIMAL };

/** What the site answers to a path. */
export function brandAnswer(path: string): { status: number; type: string; body: string | Buffer } {
  const page = BRAND_PAGES[path];
  if (page !== undefined) return { status: 200, type: 'text/html; charset=utf-8', body: page };
  if (path.endsWith('.png')) return { status: 200, type: 'image/png', body: PIXEL };
  return { status: 404, type: 'text/html', body: 'not here' };
}
