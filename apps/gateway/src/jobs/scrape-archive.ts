/** Keeps the documents of sync scrapes for `GET scrape/{id}`, off the path of the answer. */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ScrapeRepository } from '@troupe/persistence';
import type { Uuid } from '@troupe/contracts';
import { packDocumentAside } from '@troupe/packing';
import { type Logger } from '@troupe/observability';
import { CONFIG, LOG } from '@troupe/service';
import { type Documents, type NewScrape } from './ports.js';

const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** Documents that come within this time are stored by one statement. */
const GATHER_MS = 25;
const MAX_ROWS = 32;

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
@Injectable()
export class ScrapeArchive implements OnApplicationShutdown {
  private readonly queue: Waiting[] = [];
  private bytes = 0;
  private isWriting = false;
  private dropped = 0;
  private onIdle: (() => void)[] = [];

  constructor(
    @Inject(ScrapeRepository) private readonly documents: Pick<Documents, 'store'>,
    @Inject(CONFIG) private readonly settings: { resultTtlHours: number },
    @Inject(LOG) private readonly log: Pick<Logger, 'warn'>,
  ) {}

  keep(id: Uuid, team: Uuid, document: Uint8Array): void {
    if (this.bytes + document.byteLength > MAX_WAITING_BYTES) return this.drop();
    this.bytes += document.byteLength;
    this.queue.push({ id, team, document, expiresAt: new Date(Date.now() + this.settings.resultTtlHours * 3_600_000) });
    if (!this.isWriting) void this.write();
  }

  /** Resolves when everything kept so far is stored. */
  async onApplicationShutdown(): Promise<void> {
    if (this.isWriting) await new Promise<void>((resolve) => this.onIdle.push(resolve));
  }

  private async write(): Promise<void> {
    this.isWriting = true;
    while (this.queue.length > 0) {
      if (this.queue.length < MAX_ROWS) await sleep(GATHER_MS);
      const batch = this.queue.splice(0, MAX_ROWS);
      await this.store(batch);
      for (const { document } of batch) this.bytes -= document.byteLength;
    }
    this.isWriting = false;
    for (const resolve of this.onIdle.splice(0)) resolve();
  }

  private async store(batch: Waiting[]): Promise<void> {
    try {
      await this.documents.store(await pack(batch));
    } catch (error) {
      this.log.warn({ err: error, scrapes: batch.map(({ id }) => id) }, 'the documents of scrapes were not kept');
    }
  }

  private drop(): void {
    this.dropped++;
    if (this.dropped % 100 === 1)
      this.log.warn({ dropped: this.dropped }, 'documents of scrapes are not kept: Postgres is too slow');
  }
}

/** Packs one scrape after the other and lets other work run in between: no caller waits for it. */
async function pack(batch: readonly Waiting[]): Promise<NewScrape[]> {
  const packed: NewScrape[] = [];
  for (const { document, ...row } of batch) {
    await nextTurn();
    packed.push({ ...row, packed: await packDocumentAside(document) });
  }
  return packed;
}
