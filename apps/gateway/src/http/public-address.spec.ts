import { describe, expect, it } from '@jest/globals';
import type { Request } from 'express';
import { publicBase } from './public-address.js';

const request = (headers: Record<string, string>, encrypted = false) =>
  ({ headers, socket: { encrypted, localAddress: '127.0.0.1', localPort: 3002 } }) as unknown as Request;
const forwarded = { host: 'inner:3002', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'api.example.com, proxy' };

describe('publicBase', () => {
  it('prefers the configured address', () => {
    expect(publicBase(request(forwarded), { publicBaseUrl: 'https://t.example/', trustProxy: true })).toBe(
      'https://t.example',
    );
  });

  it('believes a proxy only when told to', () => {
    expect(publicBase(request(forwarded), { trustProxy: true })).toBe('https://api.example.com');
    expect(publicBase(request(forwarded), { trustProxy: false })).toBe('http://inner:3002');
  });

  it('repeats what the client used otherwise', () => {
    expect(publicBase(request({ host: 'localhost:3002' }, true), { trustProxy: false })).toBe('https://localhost:3002');
  });

  it('does not repeat a host that is no host', () => {
    expect(publicBase(request({ host: 'x/<script>' }), { trustProxy: false })).toBe('http://127.0.0.1:3002');
    expect(publicBase(request({}), { trustProxy: false })).toBe('http://127.0.0.1:3002');
  });
});
