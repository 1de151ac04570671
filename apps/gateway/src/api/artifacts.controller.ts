/** Pictures and PDFs of pages by the addresses that stand in documents. The address is the permission: it cannot be guessed. */
import { Controller, Get, Param, Res } from '@nestjs/common';
import type { Artifact } from '@troupe/blob-store';
import { ARTIFACT_ROUTE } from '@troupe/contracts';
import type { Response } from 'express';
import { ArtifactService } from '../artifacts/artifact.service.js';
import { Public } from '../auth/api-key.guard.js';
import { Undescribed } from './undescribed.js';

/** A client that takes longer to fetch a file is cut off, because the bytes are held in memory. */
const SEND_LIMIT_MS = 60_000;
const KEPT_BY_CLIENT_S = 3600;

@Public()
@Controller(ARTIFACT_ROUTE)
export class ArtifactsController {
  constructor(private readonly artifacts: ArtifactService) {}

  @Undescribed()
  @Get(':hour/:shard/:name')
  async read(
    @Param('hour') hour: string,
    @Param('shard') shard: string,
    @Param('name') name: string,
    @Res() response: Response,
  ): Promise<void> {
    await this.artifacts.read(`${hour}/${shard}/${name}`, (artifact) => send(response, artifact, name));
  }
}

/**
 * The page that made the file is not trusted. The reader's browser runs nothing of it and takes it for no other type.
 */
async function send(response: Response, { type, bytes }: Artifact, name: string): Promise<void> {
  if (response.destroyed) return;
  response.setHeader('content-type', type);
  response.setHeader('content-disposition', `inline; filename="${name}"`);
  response.setHeader('content-security-policy', "default-src 'none'; sandbox");
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('cache-control', `private, max-age=${KEPT_BY_CLIENT_S}, immutable`);
  response.setHeader('referrer-policy', 'no-referrer');
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => response.destroy(), SEND_LIMIT_MS);
    response.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
    response.end(bytes);
  });
}
