import { Module } from '@nestjs/common';
import { AccountRepository } from '@troupe/persistence';
import { onPool } from '../infra/adapters.js';
import { LimitsModule } from '../limits/limits.module.js';
import { Accounts } from './accounts.js';
import { Admission } from './admission.js';

@Module({
  imports: [LimitsModule],
  providers: [onPool(AccountRepository), Accounts, Admission],
  exports: [Accounts, Admission],
})
export class AuthModule {}
