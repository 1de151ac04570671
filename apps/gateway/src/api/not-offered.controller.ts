import { All, Controller, Req } from '@nestjs/common';
import { TroupeError } from '@troupe/contracts';
import type { Request } from 'express';
import { Public } from '../auth/api-key.guard.js';
import { ApiError } from '../errors/api-error.js';

/** Calls of current clients that this version does not answer yet. */
const LATER_PATHS = [
  'v1/llmstxt',
  'v1/llmstxt/:id',
  'v2/llmstxt',
  'v2/llmstxt/:id',
  'v1/deep-research',
  'v1/deep-research/:id',
  'v2/deep-research',
  'v2/deep-research/:id',
  'v2/search/*path',
  'v2/team/activity',
  'v2/team/threat-protection',
  'v2/support/*path',
  'v2/mcp/action-logs',
  'v2/keyless/eligibility',
  'v2/agent/threads/*path',
  'v2/agent/:id/trace',
  'v2/agent/:id/snapshots/*path',
  'v2/parse',
  'v2/parse/*path',
  'v2/scrape/:id/interact',
  'v2/interact',
  'v2/interact/*path',
  'v2/browser',
  'v2/browser/*path',
  'v2/monitor',
  'v2/monitor/*path',
  'v2/feedback',
  'v2/exchange',
  'v2/exchange/*path',
];

/** Known to clients, so the answer is "not here", not "no such thing". */
@Controller(LATER_PATHS)
export class NotOfferedController {
  @All()
  refuse(@Req() { method, path }: Request): never {
    throw new TroupeError('NOT_SUPPORTED', `${method} ${path} is not supported by this version`);
  }
}

@Public()
@Controller(['v0', 'v0/*path'])
export class GoneController {
  @All()
  refuse(): never {
    throw new ApiError(410, 'The v0 API is gone, please use v2');
  }
}
