import { Module } from '@nestjs/common';
import { AccountRepository } from '@troupe/persistence';
import { overPostgres } from '@troupe/service';
import { LimitsModule } from '../limits/limits.module.js';
import { Accounts } from './accounts.js';
import { Admission } from './admission.js';

@Module({
  imports: [LimitsModule],
  providers: [...overPostgres(AccountRepository), Accounts, Admission],
  exports: [Accounts, Admission],
})
export class AuthModule {}
