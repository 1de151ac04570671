import { PLAIN_VIEW, type EngineRequest } from './engine.js';

/** A plain request of no job and no team; `changes` says what a spec is about. */
export function engineRequest(url: string, changes: Partial<EngineRequest> = {}): EngineRequest {
  return {
    url,
    headers: {},
    timeoutMs: 60_000,
    maxBytes: 1_000_000,
    skipTlsVerification: false,
    waitForMs: 0,
    view: PLAIN_VIEW,
    proxy: 'basic',
    team: null,
    contextKey: null,
    onRedirect: () => Promise.resolve(),
    ...changes,
  };
}
