/** Reads of long lists get only a share of the connections to Postgres, so that other calls find some free. */
import { Injectable, Optional, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { overloaded } from '../errors/api-error.js';

/** Connections for heavy reads, out of a gateway's eight. Results of jobs have four. */
const PLACES = 3;
const WAIT_MS = 1_000;
const MAX_WAITING = 100;

@Injectable()
export class HeavyReads {
  private readonly waiting = new Set<() => void>();

  /** @param places reads at a time @param waitMs for a place */
  constructor(
    @Optional() private places: number = PLACES,
    @Optional() private readonly waitMs: number = WAIT_MS,
  ) {}

  /** @throws ApiError 503 when no place becomes free in time */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.places > 0) this.places--;
    else await this.wait();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  private wait(): Promise<void> {
    if (this.waiting.size >= MAX_WAITING) throw overloaded();
    return new Promise((enter, refuse) => {
      const place = () => {
        clearTimeout(impatience);
        enter();
      };
      const impatience = setTimeout(() => {
        this.waiting.delete(place);
        refuse(overloaded());
      }, this.waitMs);
      this.waiting.add(place);
    });
  }

  /** A place is handed over rather than given back, so that no other request can slip in between. */
  private leave(): void {
    const [next] = this.waiting;
    if (next === undefined) {
      this.places++;
      return;
    }
    this.waiting.delete(next);
    next();
  }
}

/** For handlers that read lists; they are let in one by one. */
@Injectable()
export class ReadsLists implements NestInterceptor {
  constructor(private readonly reads: HeavyReads) {}

  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return from(this.reads.run(() => lastValueFrom(next.handle())));
  }
}
