import { Controller, Get, Inject, Param, Req, UseInterceptors } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { type Uuid } from '@troupe/contracts';
import { CONFIG } from '@troupe/service';
import type { Request } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { ReadsLists } from '../../http/heavy-reads.js';
import { JobHostsService } from '../../jobs/job-hosts.service.js';
import { hostOfJobBody } from '../hosts.mapper.js';
import { JobIdPipe } from '../validation/body.pipe.js';
import { listAnswer, rangeOf, readListQuery } from '../list-query.js';
import { jobAddress } from './job-address.js';

const TRAITS = { keys: [['int', 'int', 'text']], defaultLimit: 100 } as const;

/** Either path answers for either kind of job, as elsewhere. */
@Controller('v2')
@UseInterceptors(ReadsLists)
export class HostsController {
  constructor(
    private readonly hosts: JobHostsService,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  @Get('crawl/:id/hosts')
  ofCrawl(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Req() request: Request) {
    return this.read(caller, id, request);
  }

  @Get('batch/scrape/:id/hosts')
  ofBatch(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Req() request: Request) {
    return this.read(caller, id, request);
  }

  private async read(caller: Caller, id: Uuid, request: Request) {
    const query = readListQuery(request.query, TRAITS);
    const found = await this.hosts.list(caller, id, rangeOf(query));
    const base = `${jobAddress(request, id, this.config)}/hosts`;
    return listAnswer('hosts', found, (host) => hostOfJobBody(host, caller.team), { base, query });
  }
}
