import { Module } from '@nestjs/common';
import { HttpModule } from '../http/http.module.js';
import { RobotsModule } from '../robots/robots.module.js';
import { SlotsModule } from '../slots/slots.module.js';
import { HostProbe, HostProbeParts } from './host-probe.js';
import { KickParts, KickRunner } from './kick-runner.js';
import { SitemapKick } from './sitemap-kick.js';

@Module({
  imports: [HttpModule, RobotsModule, SlotsModule],
  providers: [HostProbe, HostProbeParts, KickParts, KickRunner, SitemapKick],
  exports: [KickRunner],
})
export class KickoffModule {}
