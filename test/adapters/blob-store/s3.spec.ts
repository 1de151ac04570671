/** The S3 driver against a server that speaks as S3 does, on loopback. Skipped loudly where that cannot be installed. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { openBlobs, putTogether, type OpenBlobs } from '@troupe/blob-store';
import { blobStoreConformance } from '../../../libs/blob-store/src/blob-store.conformance.js';
import { findS3Server } from '../../clients/packages.js';
import { freePort } from '../../support/free-port.js';

const KEYS = { accessKeyId: 'test', secretAccessKey: 'test-secret' };
const HOUR = '2026112110';
const JOB = '6f0c2b0e-0000-4000-8000-000000000001';

const program = await findS3Server();
const server = program === null ? null : await startServer(program);
const suite = server === null ? describe.skip : describe;

async function startServer(file: string): Promise<{ child: ChildProcess; url: string }> {
  const port = await freePort();
  const child = spawn(file, ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 100; tries++) {
    const isUp = await fetch(url).then(
      () => true,
      () => false,
    );
    if (isUp) return { child, url };
    await sleep(100);
  }
  child.kill('SIGKILL');
  throw new Error('the S3 server did not start');
}

async function newBucket(): Promise<string> {
  const client = new S3Client({ endpoint: server!.url, forcePathStyle: true, region: 'us-east-1', credentials: KEYS });
  const name = `b-${randomUUID()}`;
  await client.send(new CreateBucketCommand({ Bucket: name }));
  client.destroy();
  return name;
}

function open(bucket: string, s3Prefix = ''): Promise<OpenBlobs> {
  return openBlobs({
    blobStore: 's3',
    troupeDataDir: '/nowhere',
    s3Bucket: bucket,
    s3Endpoint: server!.url,
    s3Region: 'us-east-1',
    s3AccessKeyId: KEYS.accessKeyId,
    s3SecretAccessKey: KEYS.secretAccessKey,
    s3Prefix,
  });
}

afterAll(() => void server?.child.kill('SIGKILL'));

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
    const keys = await Promise.all(
      Array.from({ length: 1_050 }, (_, i) => blobs.snapshots.put(Buffer.from(`text ${i}`), HOUR)),
    );
    await blobs.snapshots.dropHour(HOUR);
    expect(await blobs.snapshots.listHours()).toEqual([]);
    await expect(blobs.snapshots.get(keys.at(-1)!)).rejects.toThrow('no blob');
    blobs.close();
  }, 60_000);

  it('read pieces of a gathered blob without the rest of it', async () => {
    const blobs = await open(await newBucket());
    const [first, second] = await putTogether(blobs.results, [Buffer.from('first'), Buffer.from('second')], HOUR);
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
