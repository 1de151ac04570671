import { Controller, Get } from '@nestjs/common';
import { AccountService } from '../../accounts/account.service.js';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { creditBalance, tokenBalance, type Balance } from '../account.mapper.js';

/** v1 writes these two in snake case (docs/api/v1.md). */
@Controller('v1/team')
export class UsageV1Controller {
  constructor(private readonly account: AccountService) {}

  @Get('credit-usage')
  async creditUsage(@AsCaller() caller: Caller) {
    const balance = creditBalance(await this.account.credits(caller));
    const data = { remaining_credits: balance.remaining, plan_credits: balance.plan, ...periodToV1(balance) };
    return { success: true, data };
  }

  @Get('token-usage')
  async tokenUsage(@AsCaller() caller: Caller) {
    const balance = tokenBalance(await this.account.credits(caller));
    const data = { remaining_tokens: balance.remaining, plan_tokens: balance.plan, ...periodToV1(balance) };
    return { success: true, data };
  }
}

function periodToV1({ billingPeriodStart, billingPeriodEnd }: Balance) {
  return { billing_period_start: billingPeriodStart, billing_period_end: billingPeriodEnd };
}
