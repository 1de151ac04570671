import { Controller, Get, Param, Req } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { type Uuid } from '@troupe/contracts';
import type { Request } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { publicBase } from '../../http/public-address.js';
import { JobHostsService } from '../../jobs/job-hosts.service.js';
import { InjectConfig } from '../../settings.js';
import { hostOfJobBody } from '../hosts.mapper.js';
import { JobIdPipe } from '../validation/body.pipe.js';
import { readStatusQuery } from './job-status.js';

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 100;

/** Either path answers for either kind of job, as elsewhere. */
@Controller('v2')
export class HostsController {
  constructor(
    private readonly hosts: JobHostsService,
    @InjectConfig() private readonly config: Readonly<TroupeConfig>,
  ) {}

  @Get('crawl/:id/hosts')
  ofCrawl(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Req() request: Request) {
    return this.read(caller, id, request, 'v2/crawl');
  }

  @Get('batch/scrape/:id/hosts')
  ofBatch(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Req() request: Request) {
    return this.read(caller, id, request, 'v2/batch/scrape');
  }

  /** One more is read than is shown: it tells whether a page follows. */
  private async read(caller: Caller, id: Uuid, request: Request, path: string) {
    const { skip, limit: asked } = readStatusQuery(request.query);
    const limit = Math.min(asked ?? DEFAULT_LIMIT, MAX_LIMIT);
    const found = await this.hosts.list(caller, id, { skip, limit: limit + 1 });
    const base = `${publicBase(request, this.config)}/${path}/${id}/hosts`;
    return {
      success: true,
      hosts: found.slice(0, limit).map((host) => hostOfJobBody(host, caller.team)),
      ...(found.length > limit ? { next: `${base}?skip=${skip + limit}&limit=${limit}` } : {}),
    };
  }
}
