/** Secrets that deliveries are signed with, as the teams have them now. */
import type { Uuid } from '@troupe/contracts';
import type { DeliveryRepository } from '@troupe/persistence';
import { LRUCache } from 'lru-cache';

/** How long a rotated secret may still be used. */
const FRESH_MS = 30_000;
const MAX_TEAMS = 1_000;

export class TeamSecrets {
  private readonly known = new LRUCache<Uuid, { secret: string | null }>({ max: MAX_TEAMS, ttl: FRESH_MS });

  constructor(private readonly deliveries: Pick<DeliveryRepository, 'webhookSecret'>) {}

  async of(team: Uuid): Promise<string | null> {
    const known = this.known.get(team);
    if (known !== undefined) return known.secret;
    const secret = await this.deliveries.webhookSecret(team);
    this.known.set(team, { secret });
    return secret;
  }
}
