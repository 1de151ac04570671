import { Module } from '@nestjs/common';
import { Artifacts, type OpenBlobs } from '@troupe/blob-store';
import { BLOBS } from '@troupe/service';
import { ArtifactService } from './artifact.service.js';

const artifacts = {
  provide: Artifacts,
  useFactory: (blobs: OpenBlobs) => new Artifacts(blobs.artifacts),
  inject: [BLOBS],
};

@Module({ providers: [artifacts, ArtifactService], exports: [ArtifactService] })
export class ArtifactsModule {}
