/** A site that writes down what is done on it: keys, clicks, scrolling, the size of its window. */
import type { Handler } from '@troupe/testing';

const html = (body: string, head = ''): string =>
  `<!doctype html><html><head><title>Stage</title>${head}</head><body>${body}</body></html>`;

const LOG = `<ul id="log"></ul><script>
  const log = (text) => { const item = document.createElement('li'); item.textContent = text; document.getElementById('log').append(item); };
</script>`;

/** 64 x 64 px, one colour. */
const square = (color: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><rect width="64" height="64" fill="${color}"/></svg>`;

const PAGES: Record<string, string> = {
  '/form':
    html(`<form action="/landed"><input id="first" name="first"><input id="second" name="second"><button>go</button></form>${LOG}<script>
    document.addEventListener('keydown', (event) => log((event.ctrlKey ? 'Control+' : '') + event.key));</script>`),
  '/buttons':
    html(`<p>Buttons</p>${['a', 'b', 'c'].map((name) => `<button class="more" id="${name}">${name}</button>`).join('')}
    <button class="gone">x</button><button class="gone">y</button>
    <button id="hidden" style="display:none">h</button><button id="off" disabled>off</button>
    <div style="position:relative"><button id="covered">under</button><div style="position:absolute;inset:0;background:#fff"></div></div>
    <a id="away" href="/slow-page">away</a> <a id="file" href="/file.bin">file</a> <a id="nothing" href="/nothing">nothing</a>
    ${LOG}<script>document.addEventListener('click', (event) => { log('click ' + (event.target.id || event.target.textContent));
      if (event.target.className === 'gone') for (const button of document.querySelectorAll('.gone')) button.remove(); });</script>`),
  '/slow-page': html(`<h1>Slow page</h1><script>setTimeout(() => document.body.append('Filled later'), 300)</script>`),
  '/nested': html(`<p>Outside</p><iframe src="/inside"></iframe><div id="host"></div><script>
    const root = document.getElementById('host').attachShadow({ mode: 'open' });
    root.innerHTML = '<button id="deep">deep</button><p id="deep-log">untouched</p>';
    root.getElementById('deep').onclick = () => (root.getElementById('deep-log').textContent = 'clicked in the shadow');</script>`),
  '/inside': html(`<button id="inner">inner</button><p id="inner-log">untouched</p><script>
    inner.onclick = () => (document.getElementById('inner-log').textContent = 'clicked in the frame');</script>`),
  '/long': html(
    `<div id="box"><div style="height:900px">inner</div></div><div style="height:8000px">Long</div>`,
    `<style>html { scroll-behavior: smooth } body { margin: 0 } #box { height: 100px; overflow: auto }</style>`,
  ),
  '/app-like': html(
    `<main id="pane"><div style="height:9000px">All in a pane</div></main>`,
    `<style>html, body { height: 100%; margin: 0; overflow: hidden } #pane { height: 100%; overflow-y: auto }</style>`,
  ),
  '/late': html(`<p>Waiting</p><div id="never" hidden>never shown</div><script>
    setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<p id="late">it is here</p>'), 900);</script>`),
  '/dialogs': html(`<p>Dialogs</p><button id="ask">ask</button>${LOG}<script>
    addEventListener('beforeunload', (event) => event.preventDefault());
    ask.onclick = () => { alert('a'); log(String(confirm('b')) + ' ' + String(prompt('c'))); };</script>`),
  '/quarters': html(
    `<div style="background:#f00"></div><div style="background:#0f0"></div><div style="background:#00f"></div><div style="background:#ff0"></div>`,
    `<meta name="viewport" content="width=device-width"><style>body { margin: 0; display: grid; grid-template: 50vh 50vh / 50vw 50vw }
      @media (max-width: 500px) { div { background: #f0f !important } }</style>`,
  ),
  '/stripes': html(
    `<div style="background:#00f"></div><img loading="lazy" src="/green.svg" width="64" height="64"><div style="background:#f00"></div>`,
    `<style>body { margin: 0 } div { height: 4000px } img { display: block }</style>`,
  ),
  '/tower': html(`<div style="height:20000px;background:#00f">Tower</div>`, `<style>body { margin: 0 }</style>`),
  '/canvas': `<!doctype html><body style="margin:0"><canvas id="c" width="200" height="200"></canvas><script>
    const pen = c.getContext('2d'); pen.fillStyle = '#0f0'; pen.fillRect(0, 0, 200, 200);</script></body>`,
};

export const handleStage: Handler = (request, response) => {
  const url = new URL(request.url ?? '/', 'http://stage');
  const answer = (status: number, type: string, body: string): void =>
    void response.writeHead(status, { 'content-type': type }).end(body);
  if (url.pathname === '/landed')
    return answer(200, 'text/html', html(`<h1>Landed</h1><p id="query">${url.search}</p>`));
  if (url.pathname === '/nothing') return void response.writeHead(204).end();
  if (url.pathname === '/file.bin') return answer(200, 'application/octet-stream', 'bytes');
  if (url.pathname === '/notes.txt') return answer(200, 'text/plain', 'Only a text file.');
  if (url.pathname === '/green.svg') return answer(200, 'image/svg+xml', square('#0f0'));
  const page = PAGES[url.pathname];
  if (page === undefined) return answer(404, 'text/html', html('not here'));
  if (url.pathname === '/slow-page') return void setTimeout(() => answer(200, 'text/html', page), 600);
  return answer(200, 'text/html', page);
};
