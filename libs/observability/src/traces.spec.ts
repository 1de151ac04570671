import { afterEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { inSpan, NO_TRACES, traceIdOf, TroupeError, type Tracer } from '@troupe/contracts';
import { startOtlpReceiver, type OtlpReceiver } from '../../../test/support/otlp-receiver.js';
import { createLogger } from './logger.js';
import { Metrics } from './metrics.js';
import { spanUrl } from './span-url.js';
import type { OpenTraces } from './trace-destination.js';
import { exportReport, openTraces, tracesUrl } from './traces.js';

const CALLER = '4bf92f3577b34da6a3ce929d0e0e4736';
const callerSays = (flags: string) => `00-${CALLER}-00f067aa0ba902b7-${flags}`;

let receiver: OtlpReceiver | null = null;
afterEach(async () => {
  await receiver?.close();
  receiver = null;
});

function silentLog(said: object[] = []) {
  return createLogger('test', {
    format: 'json',
    destination: { write: (line) => said.push(JSON.parse(line) as object) },
  });
}

async function open(ratio: number, url?: string): Promise<OpenTraces> {
  receiver ??= await startOtlpReceiver();
  return openTraces(
    { otelExporterOtlpEndpoint: url ?? receiver.url, otelTracesSamplerArg: ratio },
    { service: 'test', instance: 'test-1', log: silentLog(), metrics: new Metrics('test') },
  );
}

describe('traces', () => {
  it('cost nothing without a collector: the SDK is not loaded', () => {
    const script = `
      import { createRequire } from 'node:module';
      const { openTraces } = await import('${new URL('./index.js', import.meta.url).href}');
      const { tracer } = await openTraces({}, {});
      const loaded = Object.keys(createRequire('/').cache).filter((file) => /@opentelemetry.(?!api)/.test(file));
      console.log(JSON.stringify({ loaded, context: tracer.root('call', undefined).context ?? null }));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    expect({ stderr, ...(JSON.parse(stdout) as object) }).toEqual({ stderr: '', loaded: [], context: null });
  });

  it('arrive with their names, parents, attributes and failures', async () => {
    const { tracer, stop } = await open(1);
    const root = tracer.root('call', undefined, { kind: 'server' });
    const failing = inSpan(tracer, ['work', root.context, { kind: 'client', attributes: { n: 2, ok: true } }], () =>
      Promise.reject(new TroupeError('SCRAPE_TIMEOUT', 'https://user:secret@site.test/ was late')),
    );
    await expect(failing).rejects.toThrow('late');
    root.rename('POST /call');
    root.end();
    await stop();
    const [work, call] = receiver!.spans;
    expect(call).toMatchObject({
      name: 'POST /call',
      kind: 2,
      parentId: '',
      service: 'troupe-test',
      instance: 'test-1',
    });
    expect(work).toMatchObject({ name: 'work', kind: 3, parentId: call!.spanId, traceId: call!.traceId, failed: true });
    expect(work!.attributes).toEqual({ n: 2, ok: true, 'error.type': 'SCRAPE_TIMEOUT' });
    expect(traceIdOf(root.context)).toBe(call!.traceId);
  });

  it('follow the caller’s decision, and their own share for callers who made none', async () => {
    const wanted = await open(0);
    const recorded = (tracer: Tracer, header?: string) => tracer.root('call', header).context !== undefined;
    expect(recorded(wanted.tracer, callerSays('01'))).toBe(true);
    expect(recorded(wanted.tracer, callerSays('00'))).toBe(false);
    expect(recorded(wanted.tracer)).toBe(false);
    expect(recorded(wanted.tracer, 'nonsense')).toBe(false);
    expect(recorded(wanted.tracer, `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`)).toBe(false);
    expect(traceIdOf(wanted.tracer.root('call', callerSays('01')).context)).toBe(CALLER);
    await wanted.stop();
    const some = await open(0.25);
    const share = Array.from({ length: 4_000 }, () => recorded(some.tracer)).filter(Boolean).length / 4_000;
    expect(share).toBeGreaterThan(0.2);
    expect(share).toBeLessThan(0.3);
    await some.stop();
  });

  it('go on where work was called within one, and nowhere else', async () => {
    const { tracer, stop } = await open(1);
    const { context } = tracer.root('call', undefined);
    const seen = await tracer.within(context, async () => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      return tracer.active();
    });
    expect(seen).toBe(context);
    expect(tracer.active()).toBeUndefined();
    await stop();
  });

  it('are dropped, and hold up no work, while the collector is away', async () => {
    const { tracer, stop } = await open(1, 'http://127.0.0.1:9');
    const heapBefore = process.memoryUsage().heapUsed;
    for (let n = 0; n < 50_000; n++) tracer.root(`call ${n}`, undefined).end();
    expect(process.memoryUsage().heapUsed - heapBefore).toBeLessThan(64 * 2 ** 20);
    const startedMs = performance.now();
    await stop();
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });
});

describe('the report on the collector', () => {
  it('counts every span and warns once a minute at most, with what was lost since', async () => {
    const said: { msg?: string; spans?: number }[] = [];
    const metrics = new Metrics('test');
    let now = 0;
    const report = exportReport(silentLog(said), metrics, () => now);
    report(5, null);
    report(7, new Error('refused'));
    now = 59_000;
    report(8, new Error('refused'));
    now = 60_000;
    report(9, new Error('refused'));
    expect(said.map(({ spans }) => spans)).toEqual([7, 17]);
    const text = await metrics.text();
    expect(text).toMatch(/troupe_spans_exported_total\{result="sent",.*\} 5/);
    expect(text).toMatch(/troupe_spans_exported_total\{result="lost",.*\} 24/);
  });
});

describe('addresses', () => {
  it('of collectors may have a path', () => {
    expect(tracesUrl('http://c:4318')).toBe('http://c:4318/v1/traces');
    expect(tracesUrl('https://c/otlp')).toBe('https://c/otlp/v1/traces');
  });

  it('in spans have neither credentials nor query', () => {
    expect(spanUrl('https://u:p@site.test:8080/a/b?key=secret#part')).toBe('https://site.test:8080/a/b');
    expect(spanUrl('data:text/html,secret')).toBe('');
    expect(spanUrl('no address')).toBe('');
  });
});

describe('a span that is not recorded', () => {
  it('runs its work all the same', async () => {
    expect(await inSpan(NO_TRACES, ['work', undefined], (span) => Promise.resolve(span.context))).toBeUndefined();
  });
});
