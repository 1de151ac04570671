/** Subjects, streams and buckets on NATS (docs/design/messages.md, "Streams and buckets", docs/design/politeness.md, "Slots"). */
import { parseActorKey, partitionOf, type ActorKey, type Uuid } from './ids.js';
import type { WorkClass, WorkPriority } from './messages/work.js';

export const STREAM_ACT = 'ACT';
export const STREAM_WORK = 'WORK';

export const BUCKETS = {
  slot: 'slot',
  penalty: 'pen',
  receiver: 'receiver',
  cancel: 'cancel',
  pause: 'pause',
  partition: 'part',
  members: 'members',
  flight: 'flight',
} as const;

/** Ids may hold characters that a subject token cannot (`.`, `:`, `*`): they travel base64url-encoded. */
function token(id: string): string {
  return /^[A-Za-z0-9_-]+$/.test(id) ? id : `=${Buffer.from(id).toString('base64url')}`;
}

export function actorSubject(key: ActorKey): string {
  const { kind, id } = parseActorKey(key);
  return `act.${partitionOf(key)}.${kind}.${token(id)}`;
}

export function partitionFilter(partition: number): string {
  return `act.${partition}.>`;
}

export function workSubject(cls: WorkClass, priority: WorkPriority): string {
  return `work.${cls}.${priority}`;
}

export function progressSubject(job: Uuid): string {
  return `evt.job.${job}`;
}

export const RPC = {
  fetchHttp: 'rpc.fetch.http',
  fetchBrowser: 'rpc.fetch.browser',
  convert: 'rpc.convert',
  map: 'rpc.map',
  robots: 'rpc.robots',
  /** Makes the parts of one page that a model writes. */
  pageModel: 'rpc.model.page',
  /** Crawl options out of a sentence. */
  crawlOptions: 'rpc.model.crawl',
} as const;

/** To all processes of a kind; core NATS, JSON, may be lost. */
export const SUBJECTS = {
  /** Between gateways: requests counted in the present minute. */
  rateTotals: 'evt.gateway.rates',
  /** To gateways: a team -> its sync scrapes there. */
  teamActivity: 'ask.gateway.activity',
} as const;

export function abortSubject(request: Uuid): string {
  return `ctl.abort.${request}`;
}

/** Subject of a process or a server of requests: a listener there is connected. */
export function presenceSubject(id: string): string {
  return `ctl.present.${token(id)}`;
}

/** To a fetcher: pages that it fetches now or has just fetched. */
export function flightSubject(fetcher: string): string {
  return `flight.${token(fetcher)}`;
}

/** Grants for a gateway, which is a claimant without a mailbox. */
export function gatewayGrantSubject(gateway: string): string {
  return `grant.${gateway}`;
}
