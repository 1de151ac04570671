import { Module } from '@nestjs/common';
import { SUBJECTS } from '@troupe/contracts';
import { GroupCall, NatsLink } from '@troupe/messaging';
import { JobsModule } from '../jobs/jobs.module.js';
import { AccountService } from './account.service.js';
import { ACTIVITY_CALL, TeamActivity } from './team-activity.js';

const activityCall = {
  provide: ACTIVITY_CALL,
  useFactory: (link: NatsLink) => new GroupCall(link, SUBJECTS.teamActivity),
  inject: [NatsLink],
};

@Module({ imports: [JobsModule], providers: [activityCall, TeamActivity, AccountService], exports: [AccountService] })
export class AccountsModule {}
