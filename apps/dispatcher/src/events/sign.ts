/** The signature of a delivery: HMAC-SHA256 over its exact bytes (docs/api/webhooks.md, "Signature"). */
import type { WebhookSecrets } from '@troupe/persistence';
import { createHmac } from 'node:crypto';

const SIGNATURE = 'x-firecrawl-signature';
/** A header of our own, for a receiver that has not learned the present secret yet. */
const FORMER_SIGNATURE = 'x-troupe-signature-previous';
export const SIGNATURE_HEADERS: readonly string[] = [SIGNATURE, FORMER_SIGNATURE];

/** Headers, none for a team without a secret. */
export function signaturesOf(body: Uint8Array, { current, previous }: WebhookSecrets): Record<string, string> {
  return {
    ...(current !== null && { [SIGNATURE]: signatureOf(body, current) }),
    ...(previous !== null && { [FORMER_SIGNATURE]: signatureOf(body, previous) }),
  };
}

function signatureOf(body: Uint8Array, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}
