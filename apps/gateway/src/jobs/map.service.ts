import { randomUUID } from 'node:crypto';
import {
  errorFromWire,
  isTroupeError,
  RPC,
  TroupeError,
  type MapLink,
  type MapReply,
  type MapRequest,
  type MapSpec,
  type Uuid,
} from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { unavailable } from '../errors/api-error.js';
import { type CreditGate } from '../limits/credit-gate.js';
import { decodeLinks } from './link-lines.js';
import { type Link, type RemoteCalls } from './ports.js';
import { type TargetPolicy } from './target-policy.js';
import { type UsageLog } from './usage-log.js';

export interface MapAnswer {
  id: Uuid;
  links: MapLink[];
  warning: string | undefined;
}

export interface MapServiceParts {
  calls: RemoteCalls;
  link: Link;
  usage: Pick<UsageLog, 'record'>;
  targets: Pick<TargetPolicy, 'check'>;
  credits: Pick<CreditGate, 'charge'>;
}

/** Time a fetcher has to answer after its own deadline, so that its error and not ours is reported. */
const GRACE_MS = 500;

export class MapService {
  constructor(private readonly parts: MapServiceParts) {}

  /** Links of a site. Costs one credit per answered call. */
  async map(caller: Caller, spec: MapSpec, signal: AbortSignal): Promise<MapAnswer> {
    await this.parts.credits.charge(caller, 1);
    this.parts.targets.check(spec.url);
    if (!this.parts.link.isUp()) throw unavailable(null);
    const id = randomUUID();
    const startedMs = performance.now();
    const request: MapRequest = { id, team: caller.team, spec, deadlineMs: spec.timeoutMs };
    const { head, body } = await this.ask(request, signal);
    if (!head.ok) throw asMapError(errorFromWire(head.error), spec);
    const links = await decodeLinks(body);
    const ms = Math.round(performance.now() - startedMs);
    await this.parts.usage.record({
      id,
      team: caller.team,
      keyId: caller.keyId,
      credits: 1,
      url: spec.url,
      statusCode: 200,
      ms,
    });
    return { id, links, warning: head.warning };
  }

  private async ask(request: MapRequest, signal: AbortSignal) {
    try {
      return await this.parts.calls.call<MapReply>(RPC.map, request, null, {
        timeoutMs: request.deadlineMs + GRACE_MS,
        signal,
      });
    } catch (error) {
      throw isTroupeError(error) ? asMapError(error, request.spec) : error;
    }
  }
}

function asMapError(error: TroupeError, spec: MapSpec): TroupeError {
  if (error.code !== 'SCRAPE_TIMEOUT' && error.code !== 'MAP_TIMEOUT') return error;
  return new TroupeError('MAP_TIMEOUT', `The map did not finish within its timeout of ${spec.timeoutMs} ms`, {
    cause: error,
    retryable: true,
  });
}
