/** The name of a request in metrics and traces. */
import type { Request } from 'express';

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;
/** Answered before the router: the status of a job (see `status-lane.ts`). */
const LANE_ROUTE = /^\/v[12]\/(?:crawl|batch\/scrape)\/:id$/;

/** Status of a request whose client went away before it had an answer. */
export const CLIENT_GONE = 499;

/** The pattern of the route, never the path, which could have any number of values. */
export function routeOf(request: Request): string {
  const { route, baseUrl, path } = request as Request & { route?: { path?: unknown } };
  if (typeof route?.path === 'string') return `${baseUrl}${route.path}`;
  const shape = path.replace(UUID, ':id');
  return LANE_ROUTE.test(shape) ? shape : 'other';
}
