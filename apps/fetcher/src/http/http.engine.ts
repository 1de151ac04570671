/** First rung: undici with keep-alive, the cheapest way to a page. It names itself honestly. */
import { connectOf, Connector, type AllowList, type Resolver } from '@troupe/egress';
import { LRUCache } from 'lru-cache';
import { Agent } from 'undici';
import { arrivalOf } from './arrival.js';
import { CONNECT_TIMEOUT_MS, userAgentText, type Identity, type UpstreamProxy } from './engine.js';
import { PlainEngine, type Hop, type HopRequest } from './plain-engine.js';
import { defaultHeaders } from './request-headers.js';

export interface HttpEngineOptions {
  resolver: Resolver;
  allow: AllowList;
  identity: Identity;
  /** Idle connections are kept this long. @default 4_000 */
  keepAliveMs?: number;
}

/** One agent checks certificates, the other accepts any. */
interface Agents {
  verifying: Agent;
  trusting: Agent;
}

/** Proxies with connections of their own kept open. */
const MAX_PROXIES = 1_000;
const MAX_HEADER_BYTES = 64 * 1024;
/** A redirect's body up to this size is read, so that its connection stays usable. */
const DISCARD_BYTES = 64 * 1024;

export class HttpEngine extends PlainEngine {
  private readonly direct: Agents;
  /** Agents by proxy: a connection through one proxy is never used for another. */
  private readonly proxied = new LRUCache<UpstreamProxy, Agents>({
    max: MAX_PROXIES,
    dispose: ({ verifying, trusting }) => void Promise.allSettled([verifying.close(), trusting.close()]),
  });
  private readonly headers: Record<string, string>;

  constructor(private readonly options: HttpEngineOptions) {
    super('http', options.allow);
    this.direct = createAgents(options);
    this.headers = defaultHeaders(userAgentText(options.identity));
  }

  async close(): Promise<void> {
    const all = [this.direct, ...this.proxied.values()].flatMap(({ verifying, trusting }) => [verifying, trusting]);
    await Promise.all(all.map((agent) => agent.destroy()));
  }

  protected async open(hop: HopRequest): Promise<Hop> {
    const url = new URL(hop.url);
    const agents = this.agentsFor(hop.upstream);
    const agent = hop.skipTlsVerification ? agents.trusting : agents.verifying;
    const { statusCode, statusText, headers, body } = await arrivalOf(
      agent,
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'GET',
        headers: { ...this.headers, ...hop.headers },
      },
      hop.deadline.signal,
    );
    return { statusCode, statusText, headers, body, discard: () => body.dump(DISCARD_BYTES) };
  }

  private agentsFor(upstream: UpstreamProxy | undefined): Agents {
    if (upstream === undefined) return this.direct;
    const known = this.proxied.get(upstream);
    if (known !== undefined) return known;
    const agents = createAgents(this.options, upstream);
    this.proxied.set(upstream, agents);
    return agents;
  }
}

function createAgents(options: HttpEngineOptions, upstream?: UpstreamProxy): Agents {
  return { verifying: createAgent(options, true, upstream), trusting: createAgent(options, false, upstream) };
}

/** Deadlines are ours: undici's own timers are off because they tick in seconds and restart with every chunk. */
function createAgent(
  { resolver, keepAliveMs = 4_000 }: HttpEngineOptions,
  verifyTls: boolean,
  upstream?: UpstreamProxy,
) {
  const tunnel = upstream === undefined ? {} : { tunnel: upstream.open };
  const connector = new Connector({ resolver, verifyTls, timeoutMs: CONNECT_TIMEOUT_MS, ...tunnel });
  return new Agent({
    connect: connectOf(connector),
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
}
