/** Secrets that deliveries are signed with, as the teams have them now. */
import { Inject, Injectable } from '@nestjs/common';
import type { Uuid } from '@troupe/contracts';
import { DeliveryRepository, type WebhookSecrets } from '@troupe/persistence';
import { LRUCache } from 'lru-cache';

/** How long a rotated secret may still be used. */
const FRESH_MS = 30_000;
const MAX_TEAMS = 1_000;

@Injectable()
export class TeamSecrets {
  private readonly known = new LRUCache<Uuid, WebhookSecrets>({ max: MAX_TEAMS, ttl: FRESH_MS });

  constructor(@Inject(DeliveryRepository) private readonly deliveries: Pick<DeliveryRepository, 'webhookSecrets'>) {}

  async of(team: Uuid): Promise<WebhookSecrets> {
    const known = this.known.get(team);
    if (known !== undefined) return known;
    const secrets = await this.deliveries.webhookSecrets(team);
    this.known.set(team, secrets);
    return secrets;
  }
}
