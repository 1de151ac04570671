/**
 * A real fault for each alert of `deploy/prometheus/alerts.yaml`, done to a cluster from outside: signals, sites, locks, a
 * full disk, a message that nobody can handle. In rounds: those of one round do not disturb each other.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ActorBus, NatsLink } from '@troupe/messaging';
import pg from 'pg';
import { descendantsOf } from '@troupe/testing';
import type { ApiClient } from '../support/api-client.js';
import type { TestCluster } from '../support/cluster.js';
import type { SmallDisk } from '../support/small-disk.js';
import type { Fault } from './alert-course.js';
import type { FaultySites } from './faulty-sites.js';

export interface FaultStage {
  cluster: TestCluster;
  api: ApiClient;
  sites: FaultySites;
  /** Of the results; null where none can be mounted. */
  disk: SmallDisk | null;
  /** Room on it when it is filled: so little that an alert is due. */
  leftMb: number;
}

/** More events than the alert about webhooks lets wait. */
const MANY_PAGES = 1_100;
/** Longer than a scheduler may be silent before others take its partitions. */
const STALL_MS = 4_000;
/** Of the heap that a gateway may have: above the alert, below the end. */
const FULL_HEAP = 0.87;
const LONG_TEXT = 'x'.repeat(1_000_000);
const NEXT_TEXT_MS = 50;
const NEXT_KILL_MS = 500;
const SHOWN_AT_ONCE = 6;
const ASKED_AT_ONCE = 8;
/** More than the connections of a gateway. */
const READERS = 16;
const NOTHING = () => Promise.resolve();

/** In the order in which they are done. */
export function faultRounds(stage: FaultStage): Fault[][] {
  const { disk, leftMb } = stage;
  return [
    [
      poisonedMailbox(stage),
      hurriedRedirect(stage),
      lockedTable(stage),
      ...(disk === null ? [] : [fullDisk(disk, leftMb)]),
    ],
    [killedTabs(stage)],
    [stoppedDispatcher(stage), heldMemory(stage)],
    [hangingSite(stage), deadSites(stage), stalledScheduler(stage)],
  ];
}

function stoppedDispatcher({ cluster, api, sites }: FaultStage): Fault {
  return {
    what: `SIGSTOP of the dispatcher, then a batch of ${MANY_PAGES} pages with a webhook`,
    alerts: [{ name: 'TroupeServiceDown', labels: { process: 'dispatcher' } }, { name: 'TroupeWebhookBacklog' }],
    async begin() {
      await cluster.signal('dispatcher', 'SIGSTOP');
      const webhook = { url: sites.receiverUrl };
      const { status, text } = await api.post('/v2/batch/scrape', { urls: sites.manyHosts(MANY_PAGES), webhook });
      if (status !== 200) throw new Error(`the batch was answered with ${status}: ${text}`);
    },
    end: async () => void (await cluster.signal('dispatcher', 'SIGCONT')),
  };
}

/** Of a known type, for an actor that there is, without the fields that every such message has. */
function poisonedMailbox({ cluster }: FaultStage): Fault {
  return {
    what: 'a message that its actor cannot handle',
    alerts: [{ name: 'TroupeDeadLetters' }],
    async begin() {
      const { nats } = await cluster.record();
      const link = await NatsLink.open({ server: { natsUrl: nats, natsReplicas: 0 }, name: 'poisoner' });
      const body = { type: 'PostDone' } as never;
      const mail = { id: randomUUID(), type: 'PostDone', v: 1, from: 'w/poisoner', n: null, body } as const;
      await new ActorBus(link).publishActor({ ...mail, to: `delivery/${randomUUID()}` });
      await link.close();
    },
    end: NOTHING,
  };
}

/** The turn of the second request comes later than half of the time that the page has. */
function hurriedRedirect({ api, sites }: FaultStage): Fault {
  return {
    what: 'a redirect that must not wait as long as robots.txt asks for',
    alerts: [{ name: 'TroupePolitenessViolation' }],
    begin: async () => void (await api.post('/v2/crawl', { url: sites.slowUrl, scrapeOptions: { timeout: 2_000 } })),
    end: NOTHING,
  };
}

/** Requests with long bodies to a site that does not answer, until the heap is nearly full; then their clients go away. */
function heldMemory({ cluster, api, sites }: FaultStage): Fault {
  const clients = new AbortController();
  const body = JSON.stringify({ url: sites.silentUrl, includeTags: [LONG_TEXT], timeout: 300_000 });
  const ask = async () => {
    const headers = { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' };
    const answer = await fetch(`${api.url}/v2/scrape`, { method: 'POST', headers, body, signal: clients.signal });
    throw new Error(`not held: ${answer.status} ${(await answer.text()).slice(0, 200)}`);
  };
  const holding = new Set<Promise<unknown>>();
  let filling: Promise<void> = Promise.resolve();
  const fill = async () => {
    const { health } = (await cluster.processes()).find(({ name }) => name === 'gateway')!;
    while (!clients.signal.aborted) {
      if ((await heapUse(health!)) < FULL_HEAP) holding.add(ask().catch((error: unknown) => error));
      await sleep(NEXT_TEXT_MS);
    }
  };
  return {
    what: 'long requests that a gateway must hold',
    alerts: [{ name: 'TroupeMemoryNearLimit', labels: { service: 'gateway' } }],
    begin: async () => void (filling = fill()),
    async end() {
      clients.abort();
      await filling;
      await Promise.all(holding);
    },
  };
}

function killedTabs({ cluster, api, sites }: FaultStage): Fault {
  let isOver = false;
  const show = async () => {
    while (!isOver) await api.post('/v2/scrape', { url: sites.at('/page/1'), waitFor: 2_000, maxAge: 0 });
  };
  const kill = async () => {
    const fetcher = (await cluster.processes()).find(({ name }) => name === 'fetcher')!.pid!;
    while (!isOver) {
      for (const { pid, command } of descendantsOf(fetcher)) if (command.includes('--type=renderer')) kill9(pid);
      await sleep(NEXT_KILL_MS);
    }
  };
  let work: Promise<unknown> = Promise.resolve();
  return {
    what: 'kill -9 of the processes that show pages',
    alerts: [{ name: 'TroupeBrowserCrashes' }],
    begin: async () => void (work = Promise.all([kill(), ...Array.from({ length: SHOWN_AT_ONCE }, show)])),
    async end() {
      isOver = true;
      await work;
    },
  };
}

function kill9(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** Of the limit, as the process itself tells. */
async function heapUse(health: string): Promise<number> {
  const text = await (await fetch(`${health}/metrics`)).text();
  const valueOf = (name: string) => Number(new RegExp(`^${name}\\{.*\\} (.+)$`, 'm').exec(text)?.[1]);
  return valueOf('nodejs_heap_size_used_bytes') / valueOf('troupe_heap_limit_bytes');
}

function fullDisk(disk: SmallDisk, leftMb: number): Fault {
  return {
    what: 'the disk of the results is filled',
    alerts: [{ name: 'TroupeDiskFull' }],
    begin: () => disk.fill(leftMb),
    end: () => disk.empty(),
  };
}

function hangingSite({ api, sites }: FaultStage): Fault {
  return {
    what: 'a crawl whose site accepts requests and does not answer',
    alerts: [{ name: 'TroupeJobWithoutProgress', labels: { kind: 'crawl' } }, { name: 'TroupeFrontierStalled' }],
    async begin() {
      sites.hang();
      await api.post('/v2/crawl', { url: sites.hangingUrl, scrapeOptions: { timeout: 120_000, maxAge: 0 } });
    },
    end: async () => sites.answer(),
  };
}

/** Another site each time: one that fails is asked less and less often. */
function deadSites({ api, sites }: FaultStage): Fault {
  let isOver = false;
  let asking: Promise<unknown> = Promise.resolve();
  const dead = sites.deadHosts();
  const ask = async () => {
    while (!isOver) {
      await api.post('/v2/scrape', { url: dead.next().value, maxAge: 0, timeout: 2_000 });
      await sleep(50);
    }
  };
  return {
    what: 'nobody listens at the addresses of some sites',
    alerts: [{ name: 'TroupeHostErrors' }],
    begin: async () => void (asking = Promise.all(Array.from({ length: ASKED_AT_ONCE }, ask))),
    async end() {
      isOver = true;
      await asking;
    },
  };
}

/** As by a migration, or an operator in a hurry: readers pile up behind it. Reads of lists would not: they have their own places. */
function lockedTable({ cluster, api }: FaultStage): Fault {
  let locker: pg.Client;
  let isOver = false;
  let reading: Promise<unknown> = Promise.resolve();
  const read = async (reader: number) => {
    await sleep(reader * 250);
    while (!isOver) await api.call('/v2/team/queue-status');
  };
  return {
    what: 'a lock on a table that clients read',
    alerts: [{ name: 'TroupePoolSaturated', labels: { service: 'gateway' } }],
    async begin() {
      locker = new pg.Client({ connectionString: (await cluster.record()).postgres });
      await locker.connect();
      await locker.query('BEGIN');
      await locker.query('LOCK TABLE scrape_usage IN ACCESS EXCLUSIVE MODE');
      reading = Promise.all(Array.from({ length: READERS }, (_, reader) => read(reader)));
    },
    async end() {
      isOver = true;
      await locker.end();
      await reading;
    },
  };
}

/** Not the one that tells what is true of the whole cluster: its stopping would hide that for a moment. */
function stalledScheduler({ cluster }: FaultStage): Fault {
  return {
    what: `a scheduler that stands still for ${STALL_MS / 1000} s`,
    alerts: [{ name: 'TroupeLeaseFlapping' }],
    async begin() {
      const schedulers = (await cluster.processes()).filter(({ name }) => name.startsWith('scheduler'));
      const told = await Promise.all(schedulers.map(({ health }) => fetch(`${health}/metrics`)));
      const texts = await Promise.all(told.map((answer) => answer.text()));
      const { name } = schedulers[texts.findIndex((text) => !text.includes('troupe_frontier_urls{'))]!;
      await cluster.signal(name, 'SIGSTOP');
      await sleep(STALL_MS);
      await cluster.signal(name, 'SIGCONT');
    },
    end: NOTHING,
  };
}
