/** Blobs as objects of an S3 bucket, or of any server that speaks as S3 does: for clusters of several machines. */
import type * as S3 from '@aws-sdk/client-s3';
import { blobKey, BlobNotFoundError, isBlobHour, parseBlobKey, type BlobPlace, type BlobStore } from './blob-store.js';

export interface S3Place {
  bucket: string;
  /** Before every key; empty, or ending in `/`. */
  prefix: string;
}

type Sdk = Pick<
  typeof S3,
  'PutObjectCommand' | 'GetObjectCommand' | 'ListObjectsV2Command' | 'DeleteObjectsCommand' | 'HeadBucketCommand'
>;

/** A bucket. The client library is large, so the caller that has loaded it hands it in. */
export class S3Bucket {
  constructor(
    private readonly sdk: Sdk,
    private readonly client: S3.S3Client,
    private readonly place: S3Place,
  ) {}

  /** The same bucket further down. @param prefix ending in `/` */
  below(prefix: string): S3Bucket {
    return new S3Bucket(this.sdk, this.client, { ...this.place, prefix: this.place.prefix + prefix });
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    const { bucket, prefix } = this.place;
    await this.client.send(new this.sdk.PutObjectCommand({ Bucket: bucket, Key: prefix + key, Body: bytes }));
  }

  /** null: there is no such object. @throws RangeError when it ends before the part does */
  async get({ blob, part }: BlobPlace): Promise<Buffer | null> {
    const { bucket, prefix } = this.place;
    if (part !== null && part.to === part.from) return Buffer.alloc(0);
    const range = part === null ? {} : { Range: `bytes=${part.from}-${part.to - 1}` };
    try {
      const answer = await this.client.send(
        new this.sdk.GetObjectCommand({ Bucket: bucket, Key: prefix + blob, ...range }),
      );
      const bytes = Buffer.from(await answer.Body!.transformToByteArray());
      if (part !== null && bytes.length < part.to - part.from)
        throw new RangeError(`blob ${blob} ends before ${part.to}`);
      return bytes;
    } catch (error) {
      if (isAbsent(error)) return null;
      throw error;
    }
  }

  /** Names right below, up to their first `/`. */
  async folders(): Promise<string[]> {
    const { bucket, prefix } = this.place;
    const names: string[] = [];
    let token: string | undefined;
    do {
      const page = await this.client.send(
        new this.sdk.ListObjectsV2Command({
          Bucket: bucket,
          Prefix: prefix,
          Delimiter: '/',
          ContinuationToken: token,
        }),
      );
      for (const { Prefix = '' } of page.CommonPrefixes ?? []) names.push(Prefix.slice(prefix.length, -1));
      token = page.NextContinuationToken;
    } while (token !== undefined);
    return names.sort();
  }

  /** Removes every object below a folder. */
  async drop(folder: string): Promise<void> {
    const { bucket, prefix } = this.place;
    for (;;) {
      const page = await this.client.send(
        new this.sdk.ListObjectsV2Command({ Bucket: bucket, Prefix: `${prefix}${folder}/` }),
      );
      const keys = (page.Contents ?? []).map(({ Key }) => ({ Key }));
      if (keys.length === 0) return;
      const Delete = { Objects: keys, Quiet: true };
      const { Errors = [] } = await this.client.send(new this.sdk.DeleteObjectsCommand({ Bucket: bucket, Delete }));
      if (Errors.length > 0) throw new Error(`${Errors.length} blobs were not removed: ${Errors[0]?.Message}`);
    }
  }

  /** @throws the server's error when the bucket is not there or not ours */
  async check(): Promise<void> {
    await this.client.send(new this.sdk.HeadBucketCommand({ Bucket: this.place.bucket }));
  }

  close(): void {
    this.client.destroy();
  }
}

export class S3BlobStore implements BlobStore {
  constructor(private readonly bucket: S3Bucket) {}

  async put(bytes: Uint8Array, hour: string): Promise<string> {
    const key = blobKey(bytes, hour);
    await this.bucket.put(key, bytes);
    return key;
  }

  async get(key: string): Promise<Buffer> {
    const place = parseBlobKey(key);
    const bytes = place === null ? null : await this.bucket.get(place);
    if (bytes === null) throw new BlobNotFoundError(key);
    return bytes;
  }

  async dropHour(hour: string): Promise<void> {
    if (!isBlobHour(hour)) throw new RangeError(`not an hour (yyyymmddhh): ${JSON.stringify(hour)}`);
    await this.bucket.drop(hour);
  }

  async listHours(): Promise<string[]> {
    return (await this.bucket.folders()).filter(isBlobHour);
  }
}

function isAbsent(error: unknown): boolean {
  const { name, $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } };
  return name === 'NoSuchKey' || name === 'NotFound' || $metadata?.httpStatusCode === 404;
}
