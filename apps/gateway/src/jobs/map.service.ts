import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
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
import { CreditGate } from '../limits/credit-gate.js';
import { decodeLinks } from './link-lines.js';
import { RemoteCalls } from './remote-calls.js';
import { TargetPolicy } from './target-policy.js';
import { UsageLog } from './usage-log.js';

export interface MapAnswer {
  id: Uuid;
  links: MapLink[];
  warning: string | undefined;
}

/** Time a fetcher has to answer after its own deadline, so that its error and not ours is reported. */
const GRACE_MS = 500;

@Injectable()
export class MapService {
  constructor(
    private readonly calls: RemoteCalls,
    @Inject(UsageLog) private readonly usage: Pick<UsageLog, 'record'>,
    @Inject(TargetPolicy) private readonly targets: Pick<TargetPolicy, 'check'>,
    @Inject(CreditGate) private readonly credits: Pick<CreditGate, 'charge'>,
  ) {}

  /** Links of a site. Costs one credit per answered call. */
  async map(caller: Caller, spec: MapSpec, signal: AbortSignal): Promise<MapAnswer> {
    await this.credits.charge(caller, 1);
    this.targets.check(spec.url);
    this.calls.ensureUp();
    const id = randomUUID();
    const startedMs = performance.now();
    const request: MapRequest = { id, team: caller.team, spec, deadlineMs: spec.timeoutMs };
    const { head, body } = await this.ask(request, signal);
    if (!head.ok) throw asMapError(errorFromWire(head.error), spec);
    const links = await decodeLinks(body);
    const ms = Math.round(performance.now() - startedMs);
    await this.usage.record({
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
      return await this.calls.call<MapReply>(RPC.map, request, null, {
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
