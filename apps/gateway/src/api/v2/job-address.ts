import { type TroupeConfig } from '@troupe/config';
import { type Uuid } from '@troupe/contracts';
import type { Request } from 'express';
import { publicBase } from '../../http/public-address.js';

const JOBS_PATH = /^\/v[12]\/(?:crawl|batch\/scrape)(?=\/|$)/i;

/** Address of a crawl or batch: on the path of the request, in its version. */
export function jobAddress(request: Request, id: Uuid, config: Readonly<TroupeConfig>): string {
  const path = JOBS_PATH.exec(request.path)?.[0].toLowerCase() ?? '';
  return `${publicBase(request, config)}${path}/${id}`;
}
