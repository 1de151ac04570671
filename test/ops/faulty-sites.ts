/** The sites and the receiver of webhooks of a cluster that is watched, each with its own way of going wrong. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startDns, startRaw, startSite, type DnsServer, type RawServer, type Site } from '@troupe/testing';

const LINKS = Array.from({ length: 30 }, (_, i) => `<a href="/page/${i}">${i}</a>`).join(' ');
const MOST_HOSTS = 2_000;
const hostName = (i: number) => `h${i}.many.test`;

export class FaultySites {
  /** Refuses at first, then takes everything. */
  isReceiverUp = false;

  private constructor(
    private readonly main: Site,
    private readonly slow: Site,
    private readonly hanging: HangingSite,
    private readonly silent: RawServer,
    private readonly dns: DnsServer,
    private readonly receiver: Server,
  ) {
    receiver.on('request', (request, response: ServerResponse) => {
      request.resume();
      response.writeHead(this.isReceiverUp ? 200 : 500);
      response.end();
    });
  }

  static async start(): Promise<FaultySites> {
    const hosts = Array.from({ length: MOST_HOSTS }, (_, i) => [hostName(i), ['127.0.0.1']]);
    const receiver = createServer();
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const [main, slow, hanging, silent, dns] = await Promise.all([
      startMainSite(),
      startSlowSite(),
      HangingSite.start(),
      startRaw(() => undefined),
      startDns(Object.fromEntries(hosts)),
    ]);
    return new FaultySites(main, slow, hanging, silent, dns, receiver);
  }

  at(place: string): string {
    return `http://127.0.0.1:${this.main.port}${place}`;
  }

  /** A page on each of so many hosts. */
  manyHosts(count: number): string[] {
    return Array.from({ length: count }, (_, i) => `http://${hostName(i)}:${this.main.port}/page/${i}`);
  }

  /** Sites without a server, over and over. */
  *deadHosts(): Generator<string, never> {
    for (let i = 0; ; i++) yield `http://${hostName(i % MOST_HOSTS)}:1/`;
  }

  get resolver(): string {
    return this.dns.address;
  }

  get receiverUrl(): string {
    return `http://127.0.0.1:${(this.receiver.address() as AddressInfo).port}/`;
  }

  /** A site that asks for four seconds between two requests, and redirects. */
  get slowUrl(): string {
    return `${this.slow.origin}/from`;
  }

  /** Accepts connections and never says a word. */
  get silentUrl(): string {
    return `http://127.0.0.1:${this.silent.port}/`;
  }

  /** Links to pages that hang while they are told to. */
  get hangingUrl(): string {
    return this.hanging.url;
  }

  hang(): void {
    this.hanging.isHanging = true;
  }

  /** What hangs is answered now, and what comes later at once. */
  answer(): void {
    this.hanging.answer();
  }

  async close(): Promise<void> {
    this.dns.close();
    this.receiver.close();
    await Promise.all([this.main.close(), this.slow.close(), this.hanging.close(), this.silent.close()]);
  }
}

function showPage(response: ServerResponse, place: string, more = ''): void {
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end(`<html><body><main><h1>${place}</h1><p>Name: thing ${place}</p>${more}</main></body></html>`);
}

function startMainSite(): Promise<Site> {
  let busy = 2;
  return startSite((request, response) => {
    const place = request.url ?? '/';
    if (place === '/robots.txt') return response.end('User-agent: *\nDisallow: /secret\n');
    if (place === '/busy' && busy-- > 0) {
      response.writeHead(503, { 'retry-after': '1' });
      return response.end('later');
    }
    if (place === '/gone') {
      response.writeHead(404, { 'content-type': 'text/html' });
      return response.end('<h1>gone</h1>');
    }
    const more = place === '/' ? `${LINKS} <a href="/secret">no</a> <a href="/busy">b</a> <a href="/gone">g</a>` : '';
    return showPage(response, place, more);
  });
}

function startSlowSite(): Promise<Site> {
  return startSite((request, response) => {
    if (request.url === '/robots.txt') return response.end('User-agent: *\nCrawl-delay: 4\n');
    if (request.url !== '/from') return showPage(response, request.url ?? '/');
    response.writeHead(302, { location: '/to' });
    return response.end();
  });
}

class HangingSite {
  isHanging = false;
  private readonly held: (() => void)[] = [];
  private site!: Site;

  static async start(): Promise<HangingSite> {
    const hanging = new HangingSite();
    hanging.site = await startSite((request, response) => {
      const place = request.url ?? '/';
      const show = () => showPage(response, place, place === '/' ? LINKS : '');
      if (place.startsWith('/page/') && hanging.isHanging) hanging.held.push(show);
      else show();
    });
    return hanging;
  }

  get url(): string {
    return `${this.site.origin}/`;
  }

  answer(): void {
    this.isHanging = false;
    for (const show of this.held.splice(0)) show();
  }

  close(): Promise<void> {
    return this.site.close();
  }
}
