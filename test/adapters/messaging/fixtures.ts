import type { Delivery, Mailbox } from '@troupe/actors';
import { actorKey, partitionOf, type ActorKey, type Envelope, type WorkMessage } from '@troupe/contracts';
import { setTimeout as sleep } from 'node:timers/promises';

export const CRAWL: ActorKey = actorKey('crawl', '00000000-0000-4000-8000-000000000001');
export const PART = partitionOf(CRAWL);

export function cancelMessage(id: string, to: ActorKey = CRAWL): Envelope {
  return { id, type: 'Cancel', v: 1, from: 'gw/test', to, n: null, body: { type: 'Cancel', job: id } };
}

export function kick(url: string): WorkMessage {
  return { type: 'Kick', task: 'robots', actor: CRAWL, host: 'example.test', url, agent: 'Troupe' };
}

/** Takes until `count` messages are there or 10 s have passed; nothing is acknowledged. */
export async function takeCount(mailbox: Mailbox, count: number, withinMs = 10_000): Promise<Delivery[]> {
  const taken: Delivery[] = [];
  const until = performance.now() + withinMs;
  while (taken.length < count && performance.now() < until) taken.push(...(await mailbox.take(256, 100)));
  return taken;
}

export async function eventually(condition: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<number> {
  const start = performance.now();
  while (!(await condition())) {
    if (performance.now() - start > withinMs) throw new Error('it did not happen in time');
    await sleep(20);
  }
  return performance.now() - start;
}

/** Repeats a publish under the same id until the stream has it, as every sender does. */
export async function insist(publish: () => Promise<void>, withinMs = 15_000): Promise<void> {
  await eventually(
    () =>
      publish().then(
        () => true,
        () => false,
      ),
    withinMs,
  );
}

export function idsOf(deliveries: Delivery[]): string[] {
  return deliveries.map(({ envelope }) => envelope.id);
}
