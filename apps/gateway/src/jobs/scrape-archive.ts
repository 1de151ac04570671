/** Keeps the documents of sync scrapes for `GET scrape/{id}`, off the path of the answer. */
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { type Uuid } from '@troupe/contracts';
import { type Logger } from '@troupe/observability';
import { type Documents } from './ports.js';

const compress = promisify(gzip);
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const MAX_WRITERS = 2;

interface Waiting {
  id: Uuid;
  team: Uuid;
  document: Uint8Array;
  expiresAt: Date;
}

/**
 * A bounded queue: when Postgres is slower than the scrapes, documents beyond 64 MB are not kept (their ids answer 404)
 * rather than filling the memory. The scrape itself has been answered and billed by then.
 */
export class ScrapeArchive {
  private readonly queue: Waiting[] = [];
  private bytes = 0;
  private writers = 0;
  private dropped = 0;
  private onIdle: (() => void)[] = [];

  constructor(
    private readonly documents: Pick<Documents, 'storeDocument'>,
    private readonly ttlHours: number,
    private readonly log: Pick<Logger, 'warn'>,
  ) {}

  keep(id: Uuid, team: Uuid, document: Uint8Array): void {
    if (this.bytes + document.byteLength > MAX_WAITING_BYTES) return this.drop();
    this.bytes += document.byteLength;
    this.queue.push({ id, team, document, expiresAt: new Date(Date.now() + this.ttlHours * 3_600_000) });
    if (this.writers < MAX_WRITERS) void this.write();
  }

  /** Resolves when everything kept so far is stored. */
  async drain(): Promise<void> {
    if (this.writers === 0) return;
    await new Promise<void>((resolve) => this.onIdle.push(resolve));
  }

  private async write(): Promise<void> {
    this.writers++;
    for (let next = this.queue.shift(); next; next = this.queue.shift()) {
      await this.store(next);
      this.bytes -= next.document.byteLength;
    }
    this.writers--;
    if (this.writers === 0) for (const resolve of this.onIdle.splice(0)) resolve();
  }

  private async store({ id, team, document, expiresAt }: Waiting): Promise<void> {
    try {
      const packed = await compress(document, { level: constants.Z_BEST_SPEED });
      await this.documents.storeDocument(id, team, packed, expiresAt);
    } catch (error) {
      this.log.warn({ err: error, scrape: id }, 'the document of a scrape was not kept');
    }
  }

  private drop(): void {
    this.dropped++;
    if (this.dropped % 100 === 1)
      this.log.warn({ dropped: this.dropped }, 'documents of scrapes are not kept: Postgres is too slow');
  }
}
