import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { actorKey, type Envelope } from '@troupe/contracts';
import { MessageTooLargeError } from '@troupe/messaging';
import { CommandPublisher } from './command-publisher.js';
import { type DueCommand } from './ports.js';

const JOBS = ['11111111', '22222222', '33333333'].map((start) => `${start}-0000-4000-8000-000000000000`);

function due(job: string, more: Partial<DueCommand> = {}): DueCommand {
  const to = actorKey('crawl', job);
  const envelope = { id: `start.${job}`, type: 'Start', to } as Envelope;
  return { id: job, subject: `act.7.crawl.${job}`, envelope, ...more };
}

function publisherOf(rounds: DueCommand[][], publish: (envelope: Envelope) => Promise<void>) {
  const failed: unknown[][] = [];
  const sent: string[] = [];
  const publisher = new CommandPublisher(
    { takeCommands: () => Promise.resolve(rounds.shift() ?? []) },
    { failCommand: (...args: unknown[]) => Promise.resolve(void failed.push(args)) },
    {
      publishActor: async (envelope: Envelope) => {
        await publish(envelope);
        sent.push(envelope.to);
      },
    },
    { isUp: () => true },
    { warn: () => undefined },
  );
  return { publisher, failed, sent };
}

describe('the sweep of commands', () => {
  it('carries the others although one can never be published, whose job fails', async () => {
    const commands = JOBS.map((job) => due(job));
    const { publisher, failed, sent } = publisherOf([commands], ({ to, type }) =>
      to.includes(JOBS[0]!) ? Promise.reject(new MessageTooLargeError(type, 796_000)) : Promise.resolve(),
    );
    await publisher.sweep();
    expect(sent).toEqual([`crawl/${JOBS[1]}`, `crawl/${JOBS[2]}`]);
    expect(failed).toEqual([
      [JOBS[0], JOBS[0], expect.stringMatching(/could not be started: A Start of 796000 bytes/)],
    ]);
  });

  it('waits for none that takes long before it sends the next', async () => {
    let release = (): void => undefined;
    const { publisher, sent } = publisherOf([JOBS.map((job) => due(job))], ({ to }) =>
      to.includes(JOBS[0]!) ? new Promise((resolve) => (release = resolve)) : Promise.resolve(),
    );
    const sweep = publisher.sweep();
    await sleep(10);
    expect(sent).toEqual([`crawl/${JOBS[1]}`, `crawl/${JOBS[2]}`]);
    release();
    await sweep;
    expect(sent).toHaveLength(3);
  });

  it('fails the job of a command that cannot be read, and leaves one whose publish failed for the next time', async () => {
    const { publisher, failed } = publisherOf([[due(JOBS[0]!, { envelope: null }), due(JOBS[1]!)]], () =>
      Promise.reject(new Error('no answer')),
    );
    await publisher.sweep();
    expect(failed).toEqual([[JOBS[0], JOBS[0], expect.stringContaining('cannot be read')]]);
  });

  it('drops a command without an actor', async () => {
    const { publisher, failed } = publisherOf([[due(JOBS[0]!, { envelope: null, subject: 'x' })]], () =>
      Promise.resolve(),
    );
    await publisher.sweep();
    expect(failed).toEqual([[JOBS[0], null, expect.anything()]]);
  });

  it('goes on until nothing is due', async () => {
    const many = Array.from({ length: 100 }, () => due(JOBS[0]!));
    const { publisher, sent } = publisherOf([many, [due(JOBS[1]!)]], () => Promise.resolve());
    await publisher.sweep();
    expect(sent).toHaveLength(101);
  });
});
