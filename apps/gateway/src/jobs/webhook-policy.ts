import { Inject, Injectable } from '@nestjs/common';
import { isTroupeError, TroupeError, type WebhookSpec } from '@troupe/contracts';
import { checkUrlTarget, parseAllowList, type AllowList } from '@troupe/egress';
import { CONFIG } from '@troupe/service';

/**
 * Decides which receivers may be named at all. Host names are judged after resolution, by the dispatcher at every
 * delivery.
 */
@Injectable()
export class WebhookPolicy {
  private readonly allow: AllowList;

  constructor(@Inject(CONFIG) { allowPrivateWebhooks }: { allowPrivateWebhooks: string }) {
    this.allow = parseAllowList(allowPrivateWebhooks);
  }

  /** @throws TroupeError BAD_REQUEST for a private address */
  check(webhook: WebhookSpec | null): void {
    if (webhook === null) return;
    try {
      checkUrlTarget(webhook.url, this.allow);
    } catch (error) {
      if (!isTroupeError(error)) throw error;
      const issue = { code: 'custom', path: ['webhook', 'url'], message: `Invalid webhook: ${error.message}` };
      throw new TroupeError('BAD_REQUEST', issue.message, { details: [issue], cause: error });
    }
  }
}
