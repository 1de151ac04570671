import { type AllowList, checkUrlTarget } from '@troupe/egress';

/**
 * Which addresses may be asked for at all. Judges address literals and `localhost` only: names are judged by the
 * fetcher, after resolution, on every redirect again.
 */
export class TargetPolicy {
  constructor(private readonly allow: AllowList) {}

  /** @throws TroupeError SCRAPE_TARGET_FORBIDDEN */
  check(url: string): void {
    checkUrlTarget(url, this.allow);
  }
}
