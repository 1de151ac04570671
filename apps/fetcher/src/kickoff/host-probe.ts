/** One request to a host that is down, to see whether it answers again. Its answer is not used as a page. */
import { Inject, Injectable } from '@nestjs/common';
import { isTroupeError, timeoutSignal, TroupeError, type Kick } from '@troupe/contracts';
import { ENGINE_TOKENS, PLAIN_VIEW, type FetchEngine } from '../http/engine.js';
import { isBusy } from '../slots/transport-error.js';
import { ExpressSlots } from '../slots/express-slots.js';
import { HostReports } from '../slots/host-reports.js';

export type ProbeTask = Extract<Kick, { task: 'probe' }>;

@Injectable()
export class HostProbeParts {
  @Inject(ENGINE_TOKENS.http) readonly engine!: Pick<FetchEngine, 'fetch'>;
  @Inject(ExpressSlots) readonly express!: Pick<ExpressSlots, 'acquire'>;
  @Inject(HostReports) readonly reports!: Pick<HostReports, 'probed'>;
}

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 1024 * 1024;
/** The host answers that the page is elsewhere. The probe need not go there. */
const MOVED = new TroupeError('UNKNOWN_ERROR', 'the probe was redirected');

@Injectable()
export class HostProbe {
  constructor(private readonly parts: HostProbeParts) {}

  /** Resolves when the host's actor has been told. @throws TroupeError CONCURRENCY_QUEUE_TIMEOUT: nothing was asked */
  async run({ host, url }: ProbeTask): Promise<void> {
    const signal = timeoutSignal(TIMEOUT_MS);
    const place = await this.parts.express.acquire(host, TIMEOUT_MS / 2, signal);
    let isClean: boolean;
    try {
      isClean = await this.answersClean(url, signal);
    } finally {
      place.release();
    }
    await this.parts.reports.probed(host, { clean: isClean, url });
  }

  private async answersClean(url: string, signal: AbortSignal): Promise<boolean> {
    try {
      const { statusCode } = await this.parts.engine.fetch(
        {
          url,
          headers: {},
          timeoutMs: TIMEOUT_MS,
          maxBytes: MAX_BYTES,
          skipTlsVerification: true,
          waitForMs: 0,
          view: PLAIN_VIEW,
          proxy: 'basic',
          team: null,
          contextKey: null,
          onRedirect: () => Promise.reject(MOVED),
        },
        signal,
      );
      return !isBusy(statusCode);
    } catch (error) {
      return error === MOVED || (isTroupeError(error) && error.code === 'SCRAPE_BODY_TOO_LARGE');
    }
  }
}
