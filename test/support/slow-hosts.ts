/** Many hosts whose pages take a while: a start page that links to the front page of each, and that to its own pages. */
import { page, type HostResources } from '../sites/known-graph/resource.js';
import { isPageRequest, peakInFlight, type SeenRequest } from '../sites/known-graph/request-log.js';
import { startKnownSite, type KnownSite } from '../sites/known-graph/server.js';

export interface SlowHostsOptions {
  hosts: number;
  pagesPerHost: number;
  pageMs: number;
}

export class SlowHosts {
  private constructor(
    private readonly site: KnownSite,
    readonly options: SlowHostsOptions,
  ) {}

  static async start(options: SlowHostsOptions): Promise<SlowHosts> {
    const { hosts, pagesPerHost, pageMs } = options;
    const paths = Array.from({ length: pagesPerHost }, (_, i) => `/slow/${i}`);
    const pages = (): HostResources => Object.fromEntries(paths.map((path) => [path, page([], { delayMs: pageMs })]));
    const site = await startKnownSite(
      (origins) =>
        origins.map((_, host) => ({ ...pages(), '/': page(host === 0 ? [...origins.slice(1), ...paths] : paths) })),
      { hosts },
    );
    return new SlowHosts(site, options);
  }

  /** From here every page of every host can be reached. */
  get startUrl(): string {
    return this.site.url('/');
  }

  /** Front pages included. */
  get pages(): number {
    return this.options.hosts * (this.options.pagesPerHost + 1);
  }

  requests(): SeenRequest[] {
    return this.site.requests(isPageRequest);
  }

  /** Pages answered between two moments of `performance.now()`, per second. */
  pagesPerS(from: number, to: number): number {
    const done = this.requests().filter(({ doneT }) => doneT !== null && doneT >= from && doneT < to);
    return done.length / ((to - from) / 1_000);
  }

  /** Requests in work between two moments: at most, and on average. */
  inFlight(from: number, to: number): { most: number; mean: number } {
    const open = this.requests().filter(({ t, doneT }) => t < to && (doneT ?? to) > from);
    const busyMs = open.reduce((sum, { t, doneT }) => sum + Math.min(doneT ?? to, to) - Math.max(t, from), 0);
    return { most: peakInFlight(open), mean: busyMs / (to - from) };
  }

  /** Pages that were asked for more than once. */
  repeats(): number {
    return this.requests().length - new Set(this.requests().map(({ host, path }) => host + path)).size;
  }

  /** Most requests that any host had in work at once. */
  busiest(): number {
    return Math.max(0, ...[...groupByHost(this.requests()).values()].map(peakInFlight));
  }

  stop(): Promise<void> {
    return this.site.stop();
  }
}

function groupByHost(requests: readonly SeenRequest[]): Map<string, SeenRequest[]> {
  const byHost = new Map<string, SeenRequest[]>();
  for (const request of requests) {
    const known = byHost.get(request.host);
    if (known === undefined) byHost.set(request.host, [request]);
    else known.push(request);
  }
  return byHost;
}
