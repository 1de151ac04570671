import { JetStreamApiError } from '@nats-io/jetstream';
import { STREAM_ACT, STREAM_WORK } from '@troupe/contracts';
import type { NatsLink } from './nats-link.js';

/** Work and mail that wait on the bus. */
export interface Backlog {
  /** Mail of a partition that its owner has not taken, and what it took and has not handled. */
  partitions: { part: number; waiting: number; taken: number }[];
  /** Work of a class and priority that no worker has taken, and what workers have in hand. */
  work: { cls: string; prio: string; waiting: number; taken: number }[];
  streams: { stream: string; messages: number; bytes: number; /** Age of its oldest message. */ ageS: number }[];
}

const PARTITION_CONSUMER = /^p(\d+)-e/;
const WORK_SUBJECT = /^work\.(\w+)\.(\w+)$/;

/** Asks JetStream; a handful of requests, whatever waits. */
export async function readBacklog(link: NatsLink): Promise<Backlog> {
  const backlog: Backlog = { partitions: [], work: [], streams: [] };
  for await (const { name, num_pending: waiting, num_ack_pending: taken } of link.jsm.consumers.list(STREAM_ACT)) {
    const part = PARTITION_CONSUMER.exec(name)?.[1];
    if (part !== undefined) backlog.partitions.push({ part: Number(part), waiting, taken });
  }
  for await (const { config, num_pending: waiting, num_ack_pending: taken } of link.jsm.consumers.list(STREAM_WORK)) {
    const [, cls, prio] = WORK_SUBJECT.exec(config.filter_subject ?? '') ?? [];
    if (cls !== undefined && prio !== undefined) backlog.work.push({ cls, prio, waiting, taken });
  }
  for (const stream of [STREAM_ACT, STREAM_WORK]) backlog.streams.push(await readStream(link, stream));
  return backlog;
}

async function readStream(link: NatsLink, stream: string): Promise<Backlog['streams'][number]> {
  try {
    const { state } = await link.jsm.streams.info(stream);
    const ageS = state.messages === 0 ? 0 : Math.max(0, (Date.now() - Date.parse(state.first_ts)) / 1000);
    return { stream, messages: state.messages, bytes: state.bytes, ageS };
  } catch (error) {
    if (error instanceof JetStreamApiError) return { stream, messages: 0, bytes: 0, ageS: 0 };
    throw error;
  }
}
