import { createHash, timingSafeEqual } from 'node:crypto';

/** Digits of the hash: enough to tell keys apart, and nothing of the key. */
const SHOWN_HEX = 8;

/** The operator's key (`ADMIN_KEY`). */
export class AdminKey {
  /** Name of the key's holder in the audit log. */
  readonly author: string;
  private readonly digest: Buffer;

  constructor(key: string) {
    this.digest = digestOf(key);
    this.author = this.digest.toString('hex').slice(0, SHOWN_HEX);
  }

  /** Takes the same time for any key. */
  matches(key: string): boolean {
    return timingSafeEqual(digestOf(key), this.digest);
  }
}

function digestOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
