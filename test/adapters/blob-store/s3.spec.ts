/** The S3 driver against a server that speaks as S3 does, on loopback. Skipped loudly where that cannot be installed. */
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, describe, expect, it } from '@jest/globals';
import { openBlobs, putMany, type OpenBlobs, type S3Timeouts } from '@troupe/blob-store';
import { blobStoreConformance } from '../../../libs/blob-store/src/blob-store.conformance.js';
import { S3_KEYS, S3Server } from '../../support/s3-server.js';

const HOUR = '2026112110';
const AT_ONCE = 50;
const JOB = '6f0c2b0e-0000-4000-8000-000000000001';

const server = await S3Server.start();
const suite = server === null ? describe.skip : describe;

const newBucket = (): Promise<string> => server!.newBucket();

function open(bucket: string, s3Prefix = ''): Promise<OpenBlobs> {
  return openAt(server!.url, bucket, s3Prefix);
}

function openAt(url: string, bucket: string, s3Prefix = '', timeouts?: S3Timeouts): Promise<OpenBlobs> {
  return openBlobs(
    {
      blobStore: 's3',
      troupeDataDir: '/nowhere',
      s3Bucket: bucket,
      s3Endpoint: url,
      s3Region: 'us-east-1',
      s3AccessKeyId: S3_KEYS.accessKeyId,
      s3SecretAccessKey: S3_KEYS.secretAccessKey,
      s3Prefix,
    },
    timeouts,
  );
}

afterAll(() => server?.stop());

if (server !== null) blobStoreConformance('S3BlobStore', async () => (await open(await newBucket())).results);

suite('the roots in a bucket', () => {
  it('are told apart, and results read what is kept for jobs that leave nothing behind', async () => {
    const blobs = await open(await newBucket(), 'one/two/');
    const [result, cached] = [Buffer.from('result'), Buffer.from('cached')];
    const key = await blobs.results.put(result, HOUR);
    await blobs.cache.put(cached, HOUR);
    const secret = await blobs.erasable.of(JOB).put(Buffer.from('secret'), HOUR);
    expect(await blobs.results.get(key)).toEqual(result);
    expect((await blobs.results.get(secret)).toString()).toBe('secret');
    expect(await blobs.results.listHours()).toEqual([HOUR]);
    expect(await blobs.erasable.jobs()).toEqual([JOB]);
    await blobs.erasable.erase(JOB);
    await expect(blobs.results.get(secret)).rejects.toThrow('no blob');
    expect(await blobs.erasable.jobs()).toEqual([]);
    expect(await blobs.results.get(key)).toEqual(result);
    blobs.close();
  });

  it('forget an hour of more blobs than one request names', async () => {
    const blobs = await open(await newBucket());
    let last = '';
    for (let i = 0; i < 1_050; i += AT_ONCE) {
      const texts = Array.from({ length: AT_ONCE }, (_, k) => Buffer.from(`text ${i + k}`));
      const keys = await Promise.all(texts.map((text) => blobs.snapshots.put(text, HOUR)));
      last = keys.at(-1)!;
    }
    await blobs.snapshots.dropHour(HOUR);
    expect(await blobs.snapshots.listHours()).toEqual([]);
    await expect(blobs.snapshots.get(last)).rejects.toThrow('no blob');
    blobs.close();
  }, 60_000);

  it('read pieces of a gathered blob without the rest of it', async () => {
    const blobs = await open(await newBucket());
    const [first, second] = await putMany(blobs.results, [Buffer.from('first'), Buffer.from('second')], HOUR);
    expect((await blobs.results.get(second!)).toString()).toBe('second');
    expect((await blobs.results.get(first!)).toString()).toBe('first');
    blobs.close();
  });

  it('say why they cannot be used', async () => {
    const blobs = await open('no-such-bucket');
    await expect(blobs.check()).rejects.toThrow();
    await expect(blobs.results.put(Buffer.from('x'), HOUR)).rejects.toThrow();
    blobs.close();
  });
});

describe('a bucket whose server takes requests and stays silent', () => {
  it('is given up, so that whoever waits can try again', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const blobs = await openAt(`http://127.0.0.1:${port}`, 'b', '', { silenceMs: 300, attempts: 2 });
    const startedMs = performance.now();
    await expect(blobs.results.put(Buffer.from('x'), HOUR)).rejects.toThrow(/timed out/);
    expect(performance.now() - startedMs).toBeLessThan(20_000);
    blobs.close();
    silent.close();
  }, 20_000);
});
