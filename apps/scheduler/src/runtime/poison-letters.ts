/** Records mail that cannot be read, without any of its body. */
import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Poison } from '@troupe/messaging';
import type { Logger } from '@troupe/observability';
import { DeadLetterRepository, type UnreadableMail } from '@troupe/persistence';
import { LOG } from '@troupe/service';

@Injectable()
export class PoisonLetters {
  constructor(
    @Inject(DeadLetterRepository) private readonly letters: DeadLetterRepository,
    @Inject(LOG) private readonly log: Pick<Logger, 'error'>,
  ) {}

  async bury(poison: Poison): Promise<void> {
    const letter = await this.letters.addUnreadable(poison.part, describe(poison));
    this.log.error({ letter, subject: poison.subject }, 'a message in a mailbox could not be read: dead letter');
  }
}

/** The name of its error, not its text, which may quote the body. */
function describe({ subject, headers, data, error }: Poison): UnreadableMail {
  const hash = createHash('sha256').update(data).digest('hex');
  return { subject, headers, bytes: data.byteLength, hash, error: error.name };
}
