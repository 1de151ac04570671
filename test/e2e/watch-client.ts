/** A bare WebSocket on a job: everything it is sent, until it is closed. */
import { WebSocket } from 'ws';
import type { Document, JobStatus } from './crawl-client.js';

export interface Frame {
  type: string;
  data?: unknown;
  error?: string;
}

export interface SeenWatch {
  frames: Frame[];
  catchup: JobStatus | undefined;
  documents: Document[];
  /** When each of `documents` came, as `performance.now()`. */
  arrivedT: number[];
  code: number;
  reason: string;
  /** Subprotocol that the server chose; '' for none. */
  protocol: string;
}

export interface OpenWatch {
  /** Resolves with the first frame. */
  opened: Promise<void>;
  /** Rejects when the upgrade is refused. */
  ended: Promise<SeenWatch>;
}

/** @param url of the job, http(s) */
export function openWatch(url: string, { key, authorization }: { key?: string; authorization?: string }): OpenWatch {
  const headers = authorization === undefined ? {} : { authorization };
  const socket = new WebSocket(url.replace(/^http/, 'ws'), key === undefined ? [] : [key], { headers });
  const frames: Frame[] = [];
  const opened = new Promise<void>((resolve) => socket.once('message', () => resolve()));
  const arrivedT: number[] = [];
  socket.on('message', (bytes: Buffer) => {
    const frame = JSON.parse(bytes.toString('utf8')) as Frame;
    frames.push(frame);
    if (frame.type === 'document') arrivedT.push(performance.now());
  });
  const ended = new Promise<SeenWatch>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('close', (code, reason) =>
      resolve({
        frames,
        catchup: frames.find(({ type }) => type === 'catchup')?.data as JobStatus | undefined,
        documents: frames.filter(({ type }) => type === 'document').map(({ data }) => data as Document),
        arrivedT,
        code,
        reason: reason.toString('utf8'),
        protocol: socket.protocol,
      }),
    );
  });
  return { opened, ended };
}
