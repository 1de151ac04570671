/**
 * Pages that wait to be shown, as Crawlee's crawler asks for them: first in, first out. Nothing is stored or retried
 * here: lanes and scrapes take care of their pages themselves.
 */
import type { IRequestManager } from '@crawlee/playwright';
import type { PageRequest } from './page-request.js';

/** The methods of a request queue that the crawler uses. */
type Source = Pick<
  IRequestManager,
  'isEmpty' | 'isFinished' | 'fetchNextRequest' | 'markRequestHandled' | 'reclaimRequest' | 'addRequest'
> &
  Pick<IRequestManager, 'getTotalCount' | 'getPendingCount' | 'handledCount'>;

export class PageSource implements Source {
  private waiting: PageRequest[] = [];
  private handled = 0;

  /** The page is dropped when its deadline fires before its turn. */
  add<T>(page: PageRequest<T>): void {
    const request = page as PageRequest;
    const { signal } = request.visit.deadline;
    if (signal.aborted) return;
    this.waiting.push(request);
    signal.addEventListener('abort', () => this.forget(request), { once: true });
  }

  get size(): number {
    return this.waiting.length;
  }

  isEmpty(): Promise<boolean> {
    return Promise.resolve(this.waiting.length === 0);
  }

  /** Never finished: there may always be more pages. */
  isFinished(): Promise<boolean> {
    return Promise.resolve(false);
  }

  fetchNextRequest(): Promise<never> {
    return Promise.resolve((this.waiting.shift() ?? null) as never);
  }

  markRequestHandled(): Promise<null> {
    this.handled++;
    return Promise.resolve(null);
  }

  reclaimRequest(): Promise<never> {
    return Promise.reject(new Error('pages are not tried again by the crawler'));
  }

  addRequest(): Promise<never> {
    return Promise.reject(new Error('pages come from lanes and scrapes'));
  }

  handledCount(): Promise<number> {
    return Promise.resolve(this.handled);
  }

  getTotalCount(): number {
    return this.handled + this.waiting.length;
  }

  getPendingCount(): number {
    return this.waiting.length;
  }

  /** Those that wait for their turn are refused. */
  refuseAll(reason: Error): void {
    for (const request of this.waiting.splice(0)) request.fail(reason);
  }

  private forget(request: PageRequest): void {
    this.waiting = this.waiting.filter((other) => other !== request);
  }
}
