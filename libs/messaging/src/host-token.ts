import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const CHARACTERS = 13;
/** Every page asks several times for the token of its host. */
const known = new LRUCache<string, string>({ max: 10_000 });

/** A host as part of a KV key: 64 bits of its hash, 13 characters of base32. */
export function hostToken(host: string): string {
  const remembered = known.get(host);
  if (remembered !== undefined) return remembered;
  const token = tokenOf(host);
  known.set(host, token);
  return token;
}

function tokenOf(host: string): string {
  let bits = createHash('sha256').update(host).digest().readBigUInt64BE(0);
  let text = '';
  for (let n = 0; n < CHARACTERS; n++) {
    text += ALPHABET[Number(bits & 31n)];
    bits >>= 5n;
  }
  return text;
}
