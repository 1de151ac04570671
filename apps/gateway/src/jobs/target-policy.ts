import { type AllowList, checkUrlTarget } from '@troupe/egress';

/**
 * Which addresses may be asked for at all: none of a blocked host, and of address literals and `localhost` only what is
 * public or allowed. Other names are judged by the fetcher, after resolution, on every redirect again.
 */
export class TargetPolicy {
  constructor(private readonly allow: AllowList) {}

  /** @throws TroupeError SCRAPE_TARGET_FORBIDDEN, UNSUPPORTED_SITE */
  check(url: string): void {
    checkUrlTarget(url, this.allow);
  }
}
