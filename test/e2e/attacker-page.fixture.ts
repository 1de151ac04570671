/** A page whose script tries every way out that a browser has, and writes down what it tried. */
import { page } from './bad-site.fixture.js';

export interface AttackTargets {
  /** `host:port` of listeners that must not be reached. */
  forbidden: string[];
  /** Port on 127.0.0.1 for UDP. */
  udpPort: number;
  /** Answers with a redirect to `?to=`. */
  redirector: string;
}

/** Names under which the script reports. A `control` before them proves that it may talk to its own site. */
export const ATTEMPTS = [
  'fetch',
  'fetch-no-cors',
  'fetch-redirect',
  'fetch-file',
  'xhr',
  'beacon',
  'event-source',
  'web-socket',
  'image',
  'script',
  'stylesheet',
  'prefetch',
  'video',
  'font',
  'iframe',
  'iframe-redirect',
  'iframe-file',
  'iframe-refresh',
  'object',
  'form',
  'popup',
  'worker',
  'worker-import',
  'shared-worker',
  'service-worker',
  'webrtc',
];

const SCRIPT = `
const log = document.getElementById('log');
const report = (text) => { const item = document.createElement('li'); item.textContent = text; log.append(item); };
const within = (work) => Promise.race([work, new Promise((done) => setTimeout(() => done('silent'), 1200))]);
const load = (tag, props) => new Promise((done) => {
  const element = Object.assign(document.createElement(tag), props);
  element.onload = () => done('loaded');
  element.onerror = () => done('failed');
  document.body.append(element);
});
const blobUrl = (code) => URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
const work = (code) => new Promise((done) => {
  const worker = new Worker(blobUrl(code));
  worker.onmessage = (event) => done(event.data);
  worker.onerror = () => done('failed');
});
const to = (url) => redirector + '?to=' + encodeURIComponent(url);
const attempts = {
  'control': () => fetch('/control').then((answer) => answer.text()),
  'fetch': (url) => fetch(url).then((answer) => answer.text()),
  'fetch-no-cors': (url) => fetch(url, { mode: 'no-cors' }).then(() => 'opaque'),
  'fetch-redirect': (url) => fetch(to(url), { mode: 'no-cors' }).then(() => 'opaque'),
  'fetch-file': () => fetch('file:///etc/passwd').then((answer) => answer.text()),
  'xhr': (url) => new Promise((done) => {
    const xhr = new XMLHttpRequest();
    xhr.onload = () => done(xhr.responseText);
    xhr.onerror = () => done('failed');
    xhr.open('POST', url);
    xhr.send('x');
  }),
  'beacon': async (url) => String(navigator.sendBeacon(url, 'x')),
  'event-source': (url) => new Promise((done) => (new EventSource(url).onerror = () => done('failed'))),
  'web-socket': (url) => new Promise((done) => {
    const socket = new WebSocket(url.replace('http', 'ws'));
    socket.onopen = () => done('open');
    socket.onerror = () => done('failed');
  }),
  'image': (url) => load('img', { src: url }),
  'script': (url) => load('script', { src: url }),
  'stylesheet': (url) => load('link', { rel: 'stylesheet', href: url }),
  'prefetch': (url) => load('link', { rel: 'prefetch', href: url }),
  'video': (url) => load('video', { src: url, preload: 'auto' }),
  'font': (url) => new FontFace('x', 'url(' + url + ')').load().then(() => 'loaded'),
  'iframe': (url) => load('iframe', { src: url }),
  'iframe-redirect': (url) => load('iframe', { src: to(url) }),
  'iframe-file': () => load('iframe', { src: 'file:///etc/passwd' }),
  'iframe-refresh': (url) => load('iframe', { srcdoc: '<meta http-equiv="refresh" content="0;url=' + url + '">' }),
  'object': (url) => load('object', { data: url, type: 'text/html' }),
  'form': async (url) => {
    document.body.append(Object.assign(document.createElement('iframe'), { name: 'form-' + url }));
    const form = Object.assign(document.createElement('form'), { method: 'post', action: url, target: 'form-' + url });
    document.body.append(form);
    form.submit();
    return 'submitted';
  },
  'popup': async (url) => String(window.open(url) !== null),
  'worker': (url) => work('fetch("' + url + '").then((a) => a.text()).then(postMessage, () => postMessage("failed"))'),
  'worker-import': (url) => work('try { importScripts("' + url + '"); postMessage("ran") } catch { postMessage("failed") }'),
  'shared-worker': (url) => new Promise((done) => {
    const shared = new SharedWorker(blobUrl('fetch("' + url + '", { mode: "no-cors" }); onconnect = (e) => e.ports[0].postMessage("ran")'));
    shared.port.onmessage = (event) => done(event.data);
    shared.onerror = () => done('failed');
  }),
  'service-worker': () => navigator.serviceWorker.register('/worker.js').then(() => 'registered'),
  'webrtc': async () => {
    const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:' + udpPort }] });
    peer.createDataChannel('x');
    await peer.setLocalDescription(await peer.createOffer());
    return new Promise((done) => setTimeout(() => done('gathered'), 1000));
  },
};
const attempt = async (name, url) => {
  const result = await within(Promise.resolve().then(() => attempts[name](url))).catch(() => 'failed');
  report(name + ' ' + url + ': ' + result);
};
const jobs = names.flatMap((name) => forbidden.map((host) => [name, 'http://' + host + '/']));
const runner = async () => {
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await attempt(...job);
};
attempt('control', location.href)
  .then(() => Promise.all(Array.from({ length: 12 }, runner)))
  .then(() => report('all attempts made'));
`;

export function attackerPage({ forbidden, udpPort, redirector }: AttackTargets): string {
  const given = { names: ATTEMPTS, forbidden, udpPort, redirector };
  const values = Object.entries(given).map(([name, value]) => `const ${name} = ${JSON.stringify(value)};`);
  return page('the attacker', `<ul id="log"></ul><script>${values.join('\n')}${SCRIPT}</script>`);
}
