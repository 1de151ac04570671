import { Inject, Injectable } from '@nestjs/common';
import { checkUrlTarget, isBlockedHost, parseAllowList, type AllowList } from '@troupe/egress';
import { BlockedHosts } from '@troupe/persistence';
import { CONFIG } from '@troupe/service';

/**
 * Decides which addresses may be asked for at all: none of a blocked host, and no address literals or `localhost`
 * unless they are public or allowed. Other names are judged by the fetcher, after resolution, on every redirect again.
 */
@Injectable()
export class TargetPolicy {
  private readonly allow: AllowList;

  constructor(@Inject(CONFIG) { allowPrivateTargets }: { allowPrivateTargets: string }, blocklist: BlockedHosts) {
    const isBlocked = (host: string) => isBlockedHost(host, blocklist.hosts);
    this.allow = { ...parseAllowList(allowPrivateTargets), isBlocked };
  }

  /** @throws TroupeError SCRAPE_TARGET_FORBIDDEN, UNSUPPORTED_SITE */
  check(url: string): void {
    checkUrlTarget(url, this.allow);
  }
}
