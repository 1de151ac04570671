import { Controller, Get, Query } from '@nestjs/common';
import { AccountService } from '../accounts/account.service.js';
import { AsCaller, type Caller } from '../auth/caller.js';
import {
  asksByKey,
  concurrencyBody,
  creditHistory,
  queueBody,
  tokenHistory,
  type HistoryQuery,
} from './account.mapper.js';

/** The account calls that both versions answer in the same words. */
@Controller(['v1', 'v2'])
export class AccountController {
  constructor(private readonly account: AccountService) {}

  @Get('team/credit-usage/historical')
  async creditHistory(@AsCaller() caller: Caller, @Query() query: HistoryQuery) {
    return creditHistory(await this.account.history(caller, asksByKey(query)));
  }

  @Get('team/token-usage/historical')
  async tokenHistory(@AsCaller() caller: Caller, @Query() query: HistoryQuery) {
    return tokenHistory(await this.account.history(caller, asksByKey(query)));
  }

  @Get('team/queue-status')
  async queueStatus(@AsCaller() caller: Caller) {
    return queueBody(await this.account.queue(caller));
  }

  @Get('concurrency-check')
  async concurrencyCheck(@AsCaller() caller: Caller) {
    return concurrencyBody(await this.account.concurrency(caller));
  }
}
