import { Controller, Get, Inject, Param, Req, UseInterceptors } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { type Uuid } from '@troupe/contracts';
import { CONFIG } from '@troupe/service';
import type { Request } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { ReadsLists } from '../../http/heavy-reads.js';
import { JobLedgerService } from '../../jobs/job-ledger.service.js';
import { JobIdPipe } from '../validation/body.pipe.js';
import { jobAddress } from './job-address.js';
import { ledgerQueryFromV2, ledgerToV2 } from './ledger.mapper.js';

/** Either path answers for either kind of job, as elsewhere. */
@Controller('v2')
@UseInterceptors(ReadsLists)
export class LedgerController {
  constructor(
    private readonly ledgers: JobLedgerService,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  @Get('crawl/:id/ledger')
  ofCrawl(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Req() request: Request) {
    return this.read(caller, id, request);
  }

  @Get('batch/scrape/:id/ledger')
  ofBatch(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Req() request: Request) {
    return this.read(caller, id, request);
  }

  private async read(caller: Caller, id: Uuid, request: Request) {
    const query = ledgerQueryFromV2(request.query);
    const ledger = await this.ledgers.read(caller, id, query);
    return ledgerToV2(ledger, query, `${jobAddress(request, id, this.config)}/ledger`);
  }
}
