import type { Uuid } from '@troupe/contracts';
import { LRUCache } from 'lru-cache';
import type { TokenBudget } from './chat-model.js';
import type { TokenCount } from './model.js';
import { ModelError } from './model-error.js';

/** Sums by day, shared by all extractors. */
export interface UsageTable {
  /** Resolves with the sum of today, these included. */
  add(team: Uuid, tokens: number): Promise<number>;
  today(team: Uuid): Promise<number>;
}

export interface TeamBudgetOptions {
  usage: UsageTable;
  /** Tokens of a team and day (UTC); 0 = any number. */
  perDay: number;
  onProblem: (error: unknown) => void;
}

const MAX_TEAMS = 10_000;
/** Tokens that other extractors spend meanwhile are not seen. */
const KNOWN_MS = 10_000;
/** The use of many calls at once is written together. */
const WRITE_MS = 500;

/** Counts the tokens of teams, and stops those that have used up their day's budget. */
export class TeamBudget implements TokenBudget {
  private readonly known = new LRUCache<Uuid, number>({ max: MAX_TEAMS, ttl: KNOWN_MS });
  private readonly unwritten = new Map<Uuid, number>();
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly options: TeamBudgetOptions) {}

  async check(team: Uuid): Promise<void> {
    const { perDay, usage } = this.options;
    if (perDay === 0) return;
    let used = this.known.get(team);
    if (used === undefined) {
      used = await usage.today(team);
      this.known.set(team, used);
    }
    if (used + (this.unwritten.get(team) ?? 0) < perDay) return;
    const text = `the team has used its ${perDay} tokens of today (LLM_TEAM_TOKENS_PER_DAY)`;
    throw new ModelError('SCRAPE_JSON_FAILED', text, { retryable: false });
  }

  spend(team: Uuid, { prompt, answer }: TokenCount): void {
    if (prompt + answer === 0) return;
    this.unwritten.set(team, (this.unwritten.get(team) ?? 0) + prompt + answer);
    this.timer ??= setTimeout(() => void this.write(), WRITE_MS);
  }

  /** Writes the use that is not written yet. Never rejects. */
  async write(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    for (const [team, tokens] of [...this.unwritten]) {
      try {
        this.known.set(team, await this.options.usage.add(team, tokens));
        this.settle(team, tokens);
      } catch (error) {
        this.options.onProblem(error);
      }
    }
  }

  private settle(team: Uuid, written: number): void {
    const left = (this.unwritten.get(team) ?? 0) - written;
    if (left > 0) this.unwritten.set(team, left);
    else this.unwritten.delete(team);
  }
}
