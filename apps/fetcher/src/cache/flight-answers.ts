/** Answers other fetchers that wait for pages which are fetched here. */
import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { flightSubject } from '@troupe/contracts';
import { Rpc } from '@troupe/messaging';
import { INSTANCE } from '@troupe/service';
import { Flights, type FlightQuestion } from './flights.js';

/** Each question waits a moment and costs next to nothing. */
const CAPACITY = 10_000;

@Injectable()
export class FlightAnswers implements OnModuleInit, OnModuleDestroy {
  private server: Awaited<ReturnType<Rpc['serve']>> | null = null;

  constructor(
    private readonly flights: Flights,
    private readonly rpc: Rpc,
    @Inject(INSTANCE) private readonly instance: string,
  ) {}

  async onModuleInit(): Promise<void> {
    const subject = flightSubject(this.instance);
    this.server = await this.rpc.serve(subject, { queue: subject, capacity: CAPACITY }, (question) =>
      this.flights.answer(question as FlightQuestion),
    );
  }

  async onModuleDestroy(): Promise<void> {
    await this.server?.stop();
  }
}
