import { Module } from '@nestjs/common';
import { DeliveryRepository } from '@troupe/persistence';
import { overPostgres } from '@troupe/service';
import { TeamSecrets } from './team-secrets.js';

@Module({
  providers: [...overPostgres(DeliveryRepository), TeamSecrets],
  exports: [DeliveryRepository, TeamSecrets],
})
export class EventsModule {}
