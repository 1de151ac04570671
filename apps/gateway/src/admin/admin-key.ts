import { createHash, timingSafeEqual } from 'node:crypto';

/** Digits of the hash: enough to tell keys apart, and nothing of the key. */
const SHOWN_HEX = 8;

/** The operator's key (`ADMIN_KEY`). */
export class AdminKey {
  /** How the audit log names who holds it. */
  readonly author: string;
  private readonly digest: Buffer;

  constructor(key: string) {
    this.digest = digestOf(key);
    this.author = this.digest.toString('hex').slice(0, SHOWN_HEX);
  }

  /** Takes as long for any key. */
  matches(key: string): boolean {
    return timingSafeEqual(digestOf(key), this.digest);
  }
}

function digestOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
