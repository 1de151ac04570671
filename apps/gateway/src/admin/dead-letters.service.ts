/** Messages that no actor could handle. An operator lists them, and sends them again when their cause is mended. */
import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ActorBus } from '@troupe/messaging';
import {
  DeadLetterRepository,
  type AuditAuthor,
  type DeadLetter,
  type ListPage,
  type ListRange,
} from '@troupe/persistence';
import { ApiError } from '../errors/api-error.js';
import { type Publisher } from '../jobs/ports.js';

@Injectable()
export class DeadLettersService {
  constructor(
    @Inject(DeadLetterRepository) private readonly letters: Pick<DeadLetterRepository, 'list' | 'envelope' | 'remove'>,
    @Inject(ActorBus) private readonly publisher: Publisher,
  ) {}

  /** Newest first. */
  list(range: ListRange): Promise<ListPage<DeadLetter>> {
    return this.letters.list(range);
  }

  /**
   * Sends a message to its actor again, under a new id and without its place in a sequence, which has passed. A crash
   * in between sends it twice, which is safe for every message.
   * @throws ApiError 404, 409 for a timer
   */
  async replay(id: string, by: AuditAuthor): Promise<void> {
    const envelope = await this.letters.envelope(id);
    if (envelope === undefined) throw new ApiError(404, 'Dead letter not found');
    if (envelope === null) throw new ApiError(409, 'A timer cannot be replayed: its actor sets a new one by itself');
    await this.publisher.publishActor({ ...envelope, id: `replay.${id}.${randomUUID()}`, n: null });
    await this.letters.remove(id, by);
  }
}
