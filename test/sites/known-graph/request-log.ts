/** What a known site saw: its own witness against whoever claims to have been polite. */

export interface SeenRequest {
  /** `performance.now()` of this process when the request's head had arrived. */
  t: number;
  /** The same clock when its answer was out, or its connection gone; null while it is in flight. */
  doneT: number | null;
  /** `127.0.0.x:port` it was sent to. */
  host: string;
  /** With the query. */
  path: string;
  ua: string;
  status: number;
  /** Address and port it came from: one per connection. */
  peer: string;
}

export type RequestFilter = (request: SeenRequest) => boolean;

/** Neither robots.txt nor a sitemap: what counts as a page request. */
export const isPageRequest: RequestFilter = ({ path }) => path !== '/robots.txt' && !/^\/[\w-]*sitemap/.test(path);

/** Most requests at one moment. */
export function peakInFlight(requests: readonly SeenRequest[]): number {
  const moments = requests.flatMap(({ t, doneT }) => [
    { at: t, step: 1 },
    { at: doneT ?? Infinity, step: -1 },
  ]);
  // One that ends when another begins makes room for it.
  moments.sort((a, b) => a.at - b.at || a.step - b.step);
  let now = 0;
  let peak = 0;
  for (const { step } of moments) peak = Math.max(peak, (now += step));
  return peak;
}

/** Times between one start and the next, in ms, in order. */
export function startGaps(requests: readonly SeenRequest[]): number[] {
  const starts = requests.map(({ t }) => t).sort((a, b) => a - b);
  return starts.slice(1).map((t, i) => t - starts[i]!);
}
