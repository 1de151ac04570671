/** Finds the data of events: pages, actions of an agent, results. */
import { actStep, placeOf, type EventPlace, type Post } from '@troupe/contracts';
import type { DeliveryRepository, PostedPage, StoredModelResult } from '@troupe/persistence';
import { MAX_BODY_BYTES } from './event-body.js';

type Deliveries = Pick<DeliveryRepository, 'pages' | 'actions' | 'modelResult'>;

/**
 * JSON that was read, or a page that is still to be read. `none`: the event has no data. undefined: the data is gone.
 */
export type EventData = { json: Buffer } | PostedPage | 'none' | undefined;

/** Bytes of a body that are kept free for the fields around its data. */
const FRAME_BYTES = 64 * 1024;
const TOO_LARGE = 'The data is too large for a webhook (above 10 MB): read it from the status of the job.';

/** Data by event. */
export async function dataOfEvents(
  deliveries: Deliveries,
  post: Post,
  events: readonly number[],
): Promise<Map<number, EventData>> {
  const places = events.map((eventNo) => ({ eventNo, place: placeOf(eventNo, post.ends, post.marks) }));
  const ords = places.flatMap(({ place }) => (place.what === 'page' ? [place.ord] : []));
  const [middle, end] = await Promise.all([
    ords.length === 0 ? null : middleEvents(deliveries, post, ords),
    places.some(({ place }) => place.what === 'end') ? endData(deliveries, post) : null,
  ]);
  const dataAt = (place: EventPlace): EventData => {
    if (place.what === 'page') return middle?.get(place.ord);
    return place.what === 'end' ? (end ?? undefined) : 'none';
  };
  return new Map(places.map(({ eventNo, place }) => [eventNo, dataAt(place)]));
}

async function middleEvents(deliveries: Deliveries, post: Post, ords: number[]): Promise<Map<number, EventData>> {
  if (post.kind !== 'agent') return deliveries.pages(post.jobNo, ords);
  const actions = await deliveries.actions(post.jobNo, ords.map(actStep));
  return new Map(ords.map((ord) => [ord, actionData(actions.get(actStep(ord)))]));
}

function actionData(action: string | undefined): EventData {
  if (action === undefined) return undefined;
  return jsonUnlessTooLarge(action, { warning: TOO_LARGE });
}

async function endData(deliveries: Deliveries, post: Post): Promise<EventData> {
  if (post.kind === 'crawl' || post.kind === 'batch') return 'none';
  if (post.kind === 'extract' && post.end?.status !== 'completed') return 'none';
  const result = await deliveries.modelResult(post.jobNo);
  if (result === null) return undefined;
  return post.kind === 'extract' ? extractData(post, result) : agentData(post, result);
}

function extractData({ job }: Post, { data, sources }: StoredModelResult): EventData {
  if (data === null) return undefined;
  const tail = sources === null ? '' : `,"sources":${sources}`;
  const json = `{"success":true,"data":${data},"extractId":"${job}"${tail}}`;
  return jsonUnlessTooLarge(json, { success: true, extractId: job, warning: TOO_LARGE });
}

function agentData({ end }: Post, { creditsUsed, data }: StoredModelResult): EventData {
  if (end?.status !== 'completed') return { json: Buffer.from(JSON.stringify({ creditsUsed })) };
  if (data === null) return undefined;
  return jsonUnlessTooLarge(`{"creditsUsed":${creditsUsed},"data":${data}}`, { creditsUsed, warning: TOO_LARGE });
}

function jsonUnlessTooLarge(json: string, instead: object): EventData {
  const bytes = Buffer.from(json);
  return { json: bytes.length <= MAX_BODY_BYTES - FRAME_BYTES ? bytes : Buffer.from(JSON.stringify(instead)) };
}
