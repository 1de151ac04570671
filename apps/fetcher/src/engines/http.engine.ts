/** First rung: undici with keep-alive, the cheapest way to a page. Honest about who it is. */
import { Connector, type AllowList, type Resolver } from '@troupe/egress';
import { Agent, type buildConnector } from 'undici';
import {
  CONNECT_TIMEOUT_MS,
  userAgentText,
  type EngineRequest,
  type EngineResponse,
  type FetchEngine,
  type Identity,
} from './engine.js';
import { fetchFollowing, type Hop, type HopRequest } from './follow.js';
import { defaultHeaders } from './request-headers.js';

export interface HttpEngineOptions {
  resolver: Resolver;
  allow: AllowList;
  identity: Identity;
  /** Idle connections are kept this long. @default 4_000 */
  keepAliveMs?: number;
}

const MAX_HEADER_BYTES = 64 * 1024;
/** A redirect's body up to this size is read, so that its connection stays usable. */
const DISCARD_BYTES = 64 * 1024;

export class HttpEngine implements FetchEngine {
  private readonly verifying: Agent;
  private readonly trusting: Agent;
  private readonly headers: Record<string, string>;

  constructor(private readonly options: HttpEngineOptions) {
    this.verifying = createAgent(options, true);
    this.trusting = createAgent(options, false);
    this.headers = defaultHeaders(userAgentText(options.identity));
  }

  fetch(request: EngineRequest, signal: AbortSignal): Promise<EngineResponse> {
    return fetchFollowing(request, signal, {
      engine: 'http',
      allow: this.options.allow,
      open: (hop) => this.open(hop),
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.verifying.destroy(), this.trusting.destroy()]);
  }

  private async open(hop: HopRequest): Promise<Hop> {
    const url = new URL(hop.url);
    const agent = hop.skipTlsVerification ? this.trusting : this.verifying;
    const { statusCode, statusText, headers, body } = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'GET',
      headers: { ...this.headers, ...hop.headers },
      signal: hop.deadline.signal,
    });
    const discard = (): Promise<void> => body.dump({ limit: DISCARD_BYTES, signal: hop.deadline.signal });
    return { statusCode, statusText, headers, stream: body, discard };
  }
}

/** Deadlines are ours: undici's own timers are off because they tick in seconds and restart with every chunk. */
function createAgent(options: HttpEngineOptions, verifyTls: boolean): Agent {
  const connector = new Connector({ resolver: options.resolver, verifyTls, timeoutMs: CONNECT_TIMEOUT_MS });
  return new Agent({
    connect: connectWith(connector),
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: options.keepAliveMs ?? 4_000,
    keepAliveMaxTimeout: options.keepAliveMs ?? 4_000,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
}

function connectWith(connector: Connector): buildConnector.connector {
  return ({ hostname, port, protocol }, callback) => {
    const secure = protocol === 'https:';
    const target = { hostname, port: port === '' ? (secure ? 443 : 80) : Number(port), secure };
    connector.connect(target).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
}
