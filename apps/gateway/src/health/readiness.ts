import { Dependencies, statusOf, type CheckAnswer, type HealthChecks } from '@troupe/observability';
import { type EdgeState } from '../http/edge.js';

/** Whether this replica can serve: not draining, and everything it depends on answers. */
export class Readiness {
  private readonly dependencies: Dependencies;

  constructor(
    readonly checks: HealthChecks,
    private readonly state: EdgeState,
  ) {
    this.dependencies = new Dependencies(checks);
  }

  /** Says which dependency is down, and no more: reasons belong into the log. */
  async ask(): Promise<{ isReady: boolean; checks: Record<string, CheckAnswer['status']> }> {
    const answers = await this.dependencies.ask();
    const checks = Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, answer.status]));
    return { isReady: !this.state.draining && statusOf(answers) !== 'unavailable', checks };
  }
}
