import { createHash } from 'node:crypto';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const CHARACTERS = 13;

/** A host as part of a KV key: 64 bits of its hash, 13 characters of base32. */
export function hostToken(host: string): string {
  let bits = createHash('sha256').update(host).digest().readBigUInt64BE(0);
  let text = '';
  for (let n = 0; n < CHARACTERS; n++) {
    text += ALPHABET[Number(bits & 31n)];
    bits >>= 5n;
  }
  return text;
}
