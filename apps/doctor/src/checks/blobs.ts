import { openBlobs } from '@troupe/blob-store';
import { randomBytes } from 'node:crypto';
import { access, constants } from 'node:fs/promises';
import { failure, fine, reasonOf, warning, type Finding } from '../finding.js';
import type { Installation } from '../installation.js';
import { existingParent } from './folders.js';

const SIZE = 4096;
const SYNC = 'Set BLOB_SYNC=on, unless the pages can be fetched again.';
/** An hour in the past, under which no job ever stores anything. */
const HOUR = '2000010100';

/** Writes a blob, reads it back and drops it, as jobs and housekeeping do. */
export async function checkBlobs({ config }: Installation): Promise<Finding[]> {
  const where = config.blobStore === 's3' ? `bucket ${config.s3Bucket}` : `${config.troupeDataDir}/blobs`;
  const mend = config.blobStore === 's3' ? s3Advice : fsAdvice;
  try {
    if (config.blobStore === 'fs' && (await existingParent(config.troupeDataDir)) !== config.troupeDataDir)
      return [await checkFutureFolder(config.troupeDataDir)];
    const blobs = await openBlobs(config);
    try {
      const startedMs = performance.now();
      const bytes = randomBytes(SIZE);
      const key = await blobs.results.put(bytes, HOUR);
      const isSame = bytes.equals(await blobs.results.get(key));
      await blobs.results.dropHour(HOUR);
      if (!isSame) return [failure('blob store', `${where}: what was read is not what was written`, mend())];
      const ms = Math.round(performance.now() - startedMs);
      const found = `${where}: written, read and removed in ${ms} ms`;
      return config.blobStore === 'fs' && !config.blobSync
        ? [warning('blob store', `${found}; a power cut may cost documents that are listed (BLOB_SYNC=off)`, SYNC)]
        : [fine('blob store', found)];
    } finally {
      blobs.close();
    }
  } catch (error) {
    return [failure('blob store', `${where}: ${reasonOf(error)}`, mend())];
  }
}

/** The data folder is made at the first start. */
async function checkFutureFolder(folder: string): Promise<Finding> {
  const parent = await existingParent(folder);
  await access(parent, constants.W_OK | constants.X_OK);
  return fine('blob store', `${folder}: not there yet, can be made`);
}

const fsAdvice = (): string =>
  'Let the user of the services write below TROUPE_DATA_DIR; several machines need a shared volume, or BLOB_STORE=s3.';
const s3Advice = (): string =>
  'Check S3_ENDPOINT, S3_BUCKET and S3_REGION, and that the credentials may list, read, write and delete objects in it.';
