/**
 * Reads of the cache's index. Questions that come while one is being answered wait for it and are then asked together:
 * a busy fetcher asks in few statements, a calm one without delay.
 */
import type { CachedPage, PageCacheKey, PageCacheRepository } from '@troupe/persistence';

interface Question {
  keys: readonly PageCacheKey[];
  answer(pages: Map<string, CachedPage>): void;
  fail(error: unknown): void;
}

export class CacheLookups {
  private waiting: Question[] = [];
  private isAsking = false;

  constructor(private readonly index: Pick<PageCacheRepository, 'find'>) {}

  /** Pages by `keyText`. */
  find(keys: readonly PageCacheKey[]): Promise<Map<string, CachedPage>> {
    return new Promise((answer, fail) => {
      this.waiting.push({ keys, answer, fail });
      if (!this.isAsking) void this.ask();
    });
  }

  private async ask(): Promise<void> {
    this.isAsking = true;
    while (this.waiting.length > 0) {
      const questions = this.waiting;
      this.waiting = [];
      try {
        const keys = questions.flatMap((question) => question.keys);
        const pages = await this.index.find(keys);
        const byKey = new Map(pages.map((page) => [keyText(page), page]));
        for (const { answer } of questions) answer(byKey);
      } catch (error) {
        for (const { fail } of questions) fail(error);
      }
    }
    this.isAsking = false;
  }
}

export function keyText({ team, urlH, variantH }: PageCacheKey): string {
  return `${team} ${urlH} ${variantH}`;
}
