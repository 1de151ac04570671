/** One watch from its handshake to its end: the present results, then every document as it comes. */
import { type Logger } from '@troupe/observability';
import { type Admission } from '../../auth/admission.js';
import { bearerToken } from '../../auth/bearer-token.js';
import { ApiError, unavailable } from '../../errors/api-error.js';
import { isDependencyDown } from '../../errors/unavailable.js';
import { type JobStatusService } from '../../jobs/job-status.service.js';
import { WatchEndedError, type JobStream } from '../../jobs/job-stream.js';
import { isOver, type JobView } from '../../jobs/ports.js';
import { documentsOf } from '../../jobs/result-runs.js';
import { statusHead } from '../v2/job-status.js';
import { CLOSE, closeMessageOf, type Ending } from './close-message.js';
import { type Handshake } from './handshake.js';
import { WatcherGoneError, type WatchSocket } from './watch-socket.js';

const MAX_CATCHUP_BYTES = 64 * 1024 * 1024;
const BEFORE_DOCUMENT = Buffer.from('{"type":"document","data":');
const AFTER_DOCUMENT = Buffer.from('}');

export interface WatchParts {
  admission: Pick<Admission, 'ofKey'>;
  status: JobStatusService;
  log: Pick<Logger, 'error'>;
}

/** Resolves when the connection is closed; never rejects. */
export async function watchJob(socket: WatchSocket, handshake: Handshake, parts: WatchParts): Promise<void> {
  try {
    socket.close(closeMessageOf(await follow(socket, handshake, parts), handshake.dialect));
  } catch (error) {
    if (error instanceof WatcherGoneError) return;
    const ending = endingOf(error);
    if (ending === FAULT) parts.log.error({ err: error, job: handshake.job }, 'a watch failed');
    socket.close(closeMessageOf(ending, handshake.dialect));
  }
  await closed(socket.signal);
}

async function follow(socket: WatchSocket, handshake: Handshake, parts: WatchParts): Promise<Ending> {
  const { admission, status } = parts;
  const caller = await admission.ofKey(() => keyOf(handshake), 'crawlStatus');
  if (handshake.job === null) return JOB_NOT_FOUND;
  const stream = await status.stream(caller, handshake.job, socket.signal);
  try {
    const reached = await sendCatchup(socket, stream.job, status);
    if (reached === null) return TOO_BIG;
    await sendDocuments(socket, stream, reached);
    return endOf(stream.job);
  } finally {
    stream.close();
  }
}

/** @throws ApiError 401 */
function keyOf({ authorization, subprotocol }: Handshake): string {
  return authorization === undefined && subprotocol !== undefined
    ? subprotocol
    : bearerToken({ headers: { authorization } });
}

/** Sends all results so far as one message, in parts. Returns their number; null when they are too many. */
async function sendCatchup(socket: WatchSocket, job: JobView, status: JobStatusService): Promise<number | null> {
  const limit = isOver(job) ? null : job.completed;
  const page = status.pageOf(job, { limit, maxBytes: MAX_CATCHUP_BYTES });
  const head = JSON.stringify(statusHead(job));
  await socket.send(`{"type":"catchup","data":${head.slice(0, -1)},"data":[`, false);
  let isFirst = true;
  for await (const { bytes } of page.runs()) {
    if (!isFirst) await socket.send(',', false);
    await socket.send(bytes, false);
    isFirst = false;
  }
  if (page.isCut) return null;
  await socket.send(']}}');
  return page.end;
}

async function sendDocuments(socket: WatchSocket, stream: JobStream, from: number): Promise<void> {
  for await (const run of stream.runs(from)) {
    for (const document of documentsOf(run))
      await socket.send(Buffer.concat([BEFORE_DOCUMENT, document, AFTER_DOCUMENT]));
  }
  if (socket.signal.aborted) throw new WatcherGoneError();
}

function endOf({ status, error }: JobView): Ending {
  if (status === 'failed') return { type: 'failed', error: error ?? 'The job failed' };
  return { type: status === 'cancelled' ? 'cancelled' : 'completed' };
}

const JOB_NOT_FOUND: Ending = { type: 'refused', code: CLOSE.refused, error: 'Job not found' };
const UNAUTHORIZED: Ending = { type: 'refused', code: CLOSE.unauthorized, error: 'Unauthorized' };
const TOO_BIG: Ending = {
  type: 'brokenOff',
  code: CLOSE.tooBig,
  error: 'Too many results to watch: ask for the status',
};
const GOING_AWAY: Ending = {
  type: 'brokenOff',
  code: CLOSE.goingAway,
  error: 'The server restarts: ask for the status',
};
const FAULT: Ending = { type: 'brokenOff', code: CLOSE.fault, error: 'Internal error' };

function endingOf(error: unknown): Ending {
  if (error instanceof WatchEndedError) return GOING_AWAY;
  if (isDependencyDown(error)) return { type: 'brokenOff', code: CLOSE.tryLater, error: unavailable(error).message };
  if (!(error instanceof ApiError)) return FAULT;
  if (error.status === 401) return UNAUTHORIZED;
  if (error.status === 404) return JOB_NOT_FOUND;
  return { type: 'brokenOff', code: CLOSE.tryLater, error: error.message };
}

function closed(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
