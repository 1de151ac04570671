import { Module } from '@nestjs/common';
import { Artifacts, type OpenBlobs } from '@troupe/blob-store';
import { BLOBS, CONFIG, type Config } from '@troupe/service';
import { ArtifactWriter } from './artifact-writer.js';

/** `ArtifactWriter | null`: null: documents carry their files. */
export const FILE_KEEPER = Symbol('FileKeeper');

@Module({
  providers: [{ provide: FILE_KEEPER, useFactory: createArtifactWriter, inject: [CONFIG, BLOBS] }],
  exports: [FILE_KEEPER],
})
export class ArtifactsModule {}

/** null: addresses are not wanted, or the public base address is not known. */
function createArtifactWriter(config: Config, { artifacts }: OpenBlobs): ArtifactWriter | null {
  const { artifactUrls, blobStore, publicBaseUrl, resultTtlHours } = config;
  const isWanted = artifactUrls === 'on' || (artifactUrls === 'auto' && blobStore === 's3');
  if (!isWanted || publicBaseUrl === undefined) return null;
  return new ArtifactWriter({ artifacts: new Artifacts(artifacts), publicBaseUrl, resultTtlHours });
}
