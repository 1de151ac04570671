import { describe, expect, it } from '@jest/globals';
import { createLogger, type LoggerOptions } from './logger.js';

function logged(write: (log: ReturnType<typeof createLogger>) => void, options: LoggerOptions = {}): string {
  let text = '';
  const destination = { write: (line: string) => void (text += line) };
  write(createLogger('fetcher', { format: 'json', destination, ...options }));
  return text;
}

describe('createLogger', () => {
  it('writes one JSON object a line with the name of the service', () => {
    const entry = JSON.parse(logged((log) => log.info({ pages: 3 }, 'done'))) as unknown;
    expect(entry).toMatchObject({ service: 'fetcher', msg: 'done', pages: 3, level: 30 });
  });

  it('hides the values of secret keys down to the third level', () => {
    const text = logged((log) =>
      log.info({
        apiKey: 's1',
        request: { headers: { authorization: 's2', cookie: 's3', 'x-api-key': 's4' } },
        db: { password: 's5' },
      }),
    );
    expect(text).not.toMatch(/"s[1-5]"/);
  });

  it('hides credentials of URLs in messages, values and stack traces', () => {
    const text = logged((log) => {
      log.info({ url: 'nats://troupe:s1@127.0.0.1:4222' }, 'connecting to postgresql://u:s2@h/db');
      log.error({ err: new Error('cannot reach https://s3@example.com/') }, 'Bearer s4token');
    });
    expect(text).not.toMatch(/s1|s2|s3|s4/);
    expect(text).toContain('@127.0.0.1:4222');
  });

  it('leaves an @ in the path or query of a URL alone', () => {
    const url = 'https://example.com/@user?mail=a@b.c';
    expect(logged((log) => log.info({ url }))).toContain(url);
  });

  it('writes readable lines when asked to', () => {
    const text = logged((log) => log.warn({ host: 'example.com', err: new Error('refused') }, 'no answer'), {
      format: 'pretty',
    });
    expect(text).toMatch(/^\S*\d\d:\d\d:\d\d\.\d{3}\S* .*WARN.* no answer .*host=.*example\.com\n {4}Error: refused/);
  });

  it('is silent below its level', () => {
    expect(logged((log) => log.info('x'), { level: 'warn' })).toBe('');
  });
});
