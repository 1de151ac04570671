import { describe, expect, it } from '@jest/globals';
import { readPageUrl } from './page-url.js';

describe('readPageUrl', () => {
  it.each([
    ['example.com', 'http://example.com/'],
    ['https://example.com/a?b=c&a=%20', 'https://example.com/a?b=c&a=%20'],
    ['HTTPS://Example.com', 'https://example.com/'],
    ['example.com:8080/x', 'http://example.com:8080/x'],
    ['localhost:3000', 'http://localhost:3000/'],
    ['127.0.0.1', 'http://127.0.0.1/'],
    ['http://[::1]:8080/', 'http://[::1]:8080/'],
    ['http://2130706433/', 'http://127.0.0.1/'],
    ['http://0x7f.1/', 'http://127.0.0.1/'],
    ['bücher.example', 'http://xn--bcher-kva.example/'],
    ['example.com/path:with', 'http://example.com/path:with'],
    ['http://a.b.example./', 'http://a.b.example./'],
  ])('reads %s as %s', (text, url) => {
    expect(readPageUrl(text)).toEqual({ ok: true, url });
  });

  it.each([
    'nope',
    '',
    'ftp://example.com',
    'file:///etc/passwd',
    'file:/etc/passwd',
    'javascript:alert(1)',
    'mailto:a@b.example',
    'http://http://x.com',
    'https://https:x.com',
    'http://',
    'http://a..example/',
    'http://exa mple.com/',
    'http://example.c/',
    `http://example.com/${'a'.repeat(2100)}`,
  ])('refuses %s', (text) => {
    expect(readPageUrl(text).ok).toBe(false);
  });
});
