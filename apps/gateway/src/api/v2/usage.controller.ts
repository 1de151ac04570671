import { Controller, Get } from '@nestjs/common';
import { AccountService } from '../../accounts/account.service.js';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { creditBalance, tokenBalance } from '../account.mapper.js';

@Controller('v2/team')
export class UsageController {
  constructor(private readonly account: AccountService) {}

  @Get('credit-usage')
  async creditUsage(@AsCaller() caller: Caller) {
    const { remaining, plan, ...period } = creditBalance(await this.account.credits(caller));
    return { success: true, data: { remainingCredits: remaining, planCredits: plan, ...period } };
  }

  @Get('token-usage')
  async tokenUsage(@AsCaller() caller: Caller) {
    const { remaining, plan, ...period } = tokenBalance(await this.account.credits(caller));
    return { success: true, data: { remainingTokens: remaining, planTokens: plan, ...period } };
  }
}
