import { Controller, Get, Inject, Query, Req, UseInterceptors } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { CONFIG } from '@troupe/service';
import type { Request } from 'express';
import { AccountService, type Period } from '../accounts/account.service.js';
import { AsCaller, type Caller } from '../auth/caller.js';
import { ReadsLists } from '../http/heavy-reads.js';
import {
  asksByKey,
  concurrencyBody,
  creditPeriod,
  queueBody,
  tokenPeriod,
  type HistoryQuery,
} from './account.mapper.js';
import { listAnswer, placeOf, rangeOf } from './list-query.js';

/** The account calls that both versions answer in the same words. */
@Controller(['v1', 'v2'])
export class AccountController {
  constructor(
    private readonly account: AccountService,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  @Get('team/credit-usage/historical')
  @UseInterceptors(ReadsLists)
  creditHistory(@AsCaller() caller: Caller, @Query() query: HistoryQuery, @Req() request: Request) {
    return this.history(caller, query, request, creditPeriod);
  }

  @Get('team/token-usage/historical')
  @UseInterceptors(ReadsLists)
  tokenHistory(@AsCaller() caller: Caller, @Query() query: HistoryQuery, @Req() request: Request) {
    return this.history(caller, query, request, tokenPeriod);
  }

  @Get('team/queue-status')
  async queueStatus(@AsCaller() caller: Caller) {
    return queueBody(await this.account.queue(caller));
  }

  @Get('concurrency-check')
  async concurrencyCheck(@AsCaller() caller: Caller) {
    return concurrencyBody(await this.account.concurrency(caller));
  }

  private async history<Body>(caller: Caller, asked: HistoryQuery, request: Request, bodyOf: (period: Period) => Body) {
    const byKey = asksByKey(asked);
    const keys = [['int', 'int', 'text']] as const;
    const place = placeOf(request, this.config, { keys }, { byApiKey: asked.byApiKey });
    return listAnswer('periods', await this.account.history(caller, byKey, rangeOf(place.query)), bodyOf, place);
  }
}
