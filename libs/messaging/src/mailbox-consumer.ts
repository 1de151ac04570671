/**
 * The one consumer of a partition, named after the epoch that owns it: `p<NN>-e<epoch>[-<k>]`.
 *
 * Deleting the consumer of a lower epoch brings its unacknowledged messages back at once and in order, and lets the
 * old owner's pulls and acks hit nothing. The work-queue stream allows one consumer per subject, so two owners cannot
 * both have one.
 */
import { AckPolicy, DeliverPolicy, JetStreamApiError, type Consumer } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { FencedError } from '@troupe/actors';
import { partitionFilter, STREAM_ACT } from '@troupe/contracts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsLink } from './nats-link.js';

const MAX_UNACKED = 1024;
const ACK_WAIT_MS = 300_000;
const TRIES = 10;
const CONSUMER_NOT_UNIQUE = 10100;
const CONSUMER_NOT_FOUND = 10014;

interface ConsumerName {
  name: string;
  epoch: number;
  k: number;
}

/**
 * Replaces whatever consumer the partition has by a new one of this epoch.
 * @throws FencedError when one of a higher epoch exists.
 */
export async function replaceConsumer(link: NatsLink, part: number, epoch: number): Promise<Consumer> {
  for (let attempt = 0; ; attempt++) {
    const present = await consumersOf(link, part);
    const higher = present.find((consumer) => consumer.epoch > epoch);
    if (higher !== undefined)
      throw new FencedError(`partition ${part} belongs to ${higher.name}, not to epoch ${epoch}`);
    await Promise.all(present.map(({ name }) => deleteConsumer(link, name)));
    const own = present.filter((consumer) => consumer.epoch === epoch).map(({ k }) => k);
    try {
      return await addConsumer(link, part, consumerName(part, epoch, own.length === 0 ? 0 : Math.max(...own) + 1));
    } catch (error) {
      const isRace = error instanceof JetStreamApiError && error.code === CONSUMER_NOT_UNIQUE;
      if (!isRace || attempt >= TRIES) throw error;
      await sleep(10 + Math.random() * 20);
    }
  }
}

export async function deleteConsumer(link: NatsLink, name: string): Promise<void> {
  try {
    await link.jsm.consumers.delete(STREAM_ACT, name);
  } catch (error) {
    if (!(error instanceof JetStreamApiError && error.code === CONSUMER_NOT_FOUND)) throw error;
  }
}

export function consumerName(part: number, epoch: number, k: number): string {
  return `p${String(part).padStart(2, '0')}-e${epoch}${k === 0 ? '' : `-${k}`}`;
}

async function addConsumer(link: NatsLink, part: number, name: string): Promise<Consumer> {
  const info = await link.jsm.consumers.add(STREAM_ACT, {
    durable_name: name,
    filter_subject: partitionFilter(part),
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    max_ack_pending: MAX_UNACKED,
    max_deliver: -1,
  });
  return link.js.consumers.getConsumerFromInfo(info);
}

/** By name alone: a listing with the state of 64 consumers would be a hundred times larger. */
async function consumersOf(link: NatsLink, part: number): Promise<ConsumerName[]> {
  const names: string[] = [];
  for (let total = 1; names.length < total;) {
    const request = JSON.stringify({ offset: names.length });
    const reply = await link.nc.request(`$JS.API.CONSUMER.NAMES.${STREAM_ACT}`, request, { timeout: 5_000 });
    const page = reply.json<{ total?: number; consumers?: string[] | null; error?: { description: string } }>();
    if (page.error !== undefined) throw new Error(`consumers of ${STREAM_ACT}: ${page.error.description}`);
    total = page.consumers?.length ? (page.total ?? 0) : 0;
    names.push(...(page.consumers ?? []));
  }
  return names.flatMap((name) => parseName(part, name) ?? []);
}

function parseName(part: number, name: string): ConsumerName | null {
  const match = /^p(\d+)-e(\d+)(?:-(\d+))?$/.exec(name);
  if (match === null || Number(match[1]) !== part) return null;
  return { name, epoch: Number(match[2]), k: Number(match[3] ?? 0) };
}
