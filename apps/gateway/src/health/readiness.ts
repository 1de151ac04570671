import { askChecks, type CheckAnswer, type HealthCheck } from '@troupe/observability';
import { type EdgeState } from '../http/edge.js';

/** Whether this replica can serve: not draining, and everything it depends on answers. */
export class Readiness {
  constructor(
    readonly checks: Record<string, HealthCheck>,
    private readonly state: EdgeState,
  ) {}

  /** Says which dependency is down, and no more: reasons belong into the log. */
  async ask(): Promise<{ isReady: boolean; checks: Record<string, CheckAnswer['status']> }> {
    const answers = await askChecks(this.checks);
    const checks = Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, answer.status]));
    return { isReady: !this.state.draining && Object.values(checks).every((status) => status === 'up'), checks };
  }
}
