/**
 * Remembers the habits of servers behind models: the way of asking for structured output that works, and the options
 * that they refuse.
 */
import type { ModelAccess } from '@troupe/contracts';
import { LRUCache } from 'lru-cache';
import type { Habits, Rung } from './providers/provider.js';

export interface KnownHabits extends Habits {
  /** First rung that is worth trying; null: the first of all. */
  rung: Rung | null;
  /** The schema is written into the prompt as well, because the server accepted it and did not keep to it. */
  tellSchema: boolean;
}

const MAX_MODELS = 1_000;
/** Servers are upgraded: after this time everything is tried anew. */
const KNOWN_MS = 3_600_000;

export class HabitBook {
  private readonly known = new LRUCache<string, KnownHabits>({ max: MAX_MODELS, ttl: KNOWN_MS });

  constructor(private readonly defaults: { stream: boolean }) {}

  of({ provider, baseUrl, model }: ModelAccess): KnownHabits {
    const key = JSON.stringify([provider, baseUrl, model]);
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const { stream } = this.defaults;
    const fresh = { systemRole: true, temperature: true, stream, rung: null, tellSchema: false };
    this.known.set(key, fresh);
    return fresh;
  }
}
