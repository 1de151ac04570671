import { createHmac } from 'node:crypto';

/** Value of `X-Firecrawl-Signature` for exactly these bytes. */
export function signatureOf(body: Uint8Array, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}
