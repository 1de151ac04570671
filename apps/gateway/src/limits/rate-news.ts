import { Injectable } from '@nestjs/common';
import { SUBJECTS } from '@troupe/contracts';
import { ActorBus } from '@troupe/messaging';
import { type RateTotal } from '@troupe/persistence';
import { NatsListener } from '../infra/nats-listener.js';

/** Totals to and from the other gateways; lost ones are made up for by the next. */
@Injectable()
export class RateNews {
  constructor(
    private readonly bus: ActorBus,
    private readonly listener: NatsListener,
  ) {}

  publish(totals: RateTotal[]): void {
    this.bus.notify(SUBJECTS.rateTotals, totals);
  }

  listen(onTotals: (totals: RateTotal[]) => void): void {
    this.listener.listen(SUBJECTS.rateTotals, onTotals);
  }
}
