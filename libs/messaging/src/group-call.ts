/** A question to every process that listens on a subject: core NATS, JSON; answers in time are heard. */
import { errors } from '@nats-io/nats-core';
import type { NatsLink } from './nats-link.js';

export interface GroupCallOptions {
  /** Answers to wait for. */
  expected: number;
  /** Longest wait for them. */
  waitMs: number;
}

export class GroupCall<Question, Answer> {
  constructor(
    private readonly link: Pick<NatsLink, 'nc' | 'isUp' | 'problem'>,
    private readonly subject: string,
  ) {}

  /**
   * Answers every question from now on, this process's own included; call the result to stop. One that cannot be read
   * is as good as lost.
   */
  answer(reply: (question: Question) => Answer): () => void {
    const subscription = this.link.nc.subscribe(this.subject, {
      callback: (error, message) => {
        if (error !== null) return;
        try {
          message.respond(JSON.stringify(reply(message.json<Question>())));
        } catch (cause) {
          this.link.problem(`a question on ${this.subject} was not answered`, cause);
        }
      },
    });
    return () => subscription.unsubscribe();
  }

  /** Fewer answers than expected are no failure; none are when NATS is away. */
  async ask(question: Question, { expected, waitMs }: GroupCallOptions): Promise<Answer[]> {
    if (!this.link.isUp()) return [];
    const answers: Answer[] = [];
    try {
      const options = { strategy: 'count', maxMessages: expected, maxWait: waitMs } as const;
      const replies = await this.link.nc.requestMany(this.subject, JSON.stringify(question), options);
      for await (const reply of replies) answers.push(reply.json<Answer>());
    } catch (error) {
      if (!(error instanceof errors.NoRespondersError)) throw error;
    }
    return answers;
  }
}
