import { describe, expect, it } from '@jest/globals';
import { TroubleRows } from './trouble-rows.js';

const of = (urlH: string, retryMs: number | null = null) => ({ urlH, retryMs });

describe('troubled URLs in a row', () => {
  it('leave a host alone from the second one on, ever longer, up to eight seconds', () => {
    const rows = new TroubleRows();
    const rests = ['a', 'b', 'c', 'd', 'e', 'f'].map((url) => rows.trouble('x.test', of(url)));
    expect(rests).toEqual([0, 1000, 2000, 4000, 8000, 8000]);
  });

  it('are none when they are the same again, or of another host', () => {
    const rows = new TroubleRows();
    expect(rows.trouble('x.test', of('a'))).toBe(0);
    expect([rows.trouble('x.test', of('a')), rows.trouble('y.test', of('b'))]).toEqual([0, 0]);
    expect([rows.trouble('x.test', of('b')), rows.trouble('x.test', of('a'))]).toEqual([1000, 0]);
    expect(rows.trouble('x.test', of('b'))).toBe(0);
  });

  it('end with a clean answer', () => {
    const rows = new TroubleRows();
    for (const url of ['a', 'b', 'c']) rows.trouble('x.test', of(url));
    rows.clean('x.test');
    expect([rows.trouble('x.test', of('d')), rows.trouble('x.test', of('e'))]).toEqual([0, 1000]);
  });

  it('that agree on a Retry-After leave the host alone so long, one of them alone does not', () => {
    const rows = new TroubleRows();
    expect([rows.trouble('x.test', of('a', 60_000)), rows.trouble('x.test', of('b'))]).toEqual([0, 1000]);
    expect([rows.trouble('y.test', of('a', 60_000)), rows.trouble('y.test', of('b', 50_000))]).toEqual([0, 50_000]);
  });
});
