/**
 * Files that documents point to, for all clients that know their address. Only a few are sent at a time, because each
 * is held in memory.
 */
import { Inject, Injectable, Optional } from '@nestjs/common';
import { Artifacts, BlobNotFoundError, hourOf, type Artifact } from '@troupe/blob-store';
import { parseArtifactPath } from '@troupe/contracts';
import { ApiError, RETRY_AFTER_S, unavailable } from '../errors/api-error.js';

/** Each up to 32 MB. */
const MAX_AT_ONCE = 16;

@Injectable()
export class ArtifactService {
  private held = 0;

  constructor(
    @Inject(Artifacts) private readonly artifacts: Pick<Artifacts, 'get'>,
    @Optional() private readonly wallMs: () => number = Date.now,
  ) {}

  /**
   * Reads a file and hands it to `send`, which settles when the file is sent or its reader has gone.
   * @param path the part after the route
   * @throws ApiError 404, 429 while too many are being sent, 503 while the store is away
   */
  async read(path: string, send: (artifact: Artifact) => Promise<void>): Promise<void> {
    const place = parseArtifactPath(path);
    if (place === null || place.hour < hourOf(this.wallMs())) throw notFound();
    if (this.held >= MAX_AT_ONCE) throw tooMany();
    this.held++;
    try {
      await send(await this.get(place.key));
    } finally {
      this.held--;
    }
  }

  private async get(key: string): Promise<Artifact> {
    try {
      return await this.artifacts.get(key);
    } catch (error) {
      throw error instanceof BlobNotFoundError ? notFound() : unavailable(error);
    }
  }
}

function notFound(): ApiError {
  return new ApiError(404, 'File not found: it is gone with the result that pointed to it, or was never there');
}

function tooMany(): ApiError {
  return new ApiError(429, 'Too many files are being sent at the moment, please try again', {
    retryAfterS: RETRY_AFTER_S,
  });
}
