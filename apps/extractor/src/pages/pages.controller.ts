import { Controller, Inject } from '@nestjs/common';
import { Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import {
  RPC,
  TroupeError,
  type CrawlOptionsReply,
  type CrawlOptionsRequest,
  type PageModelReply,
  type PageModelRequest,
  type PageTexts,
} from '@troupe/contracts';
import type { NatsContext, RpcRequest } from '@troupe/messaging';
import { CrawlPlanner } from './crawl-planner.js';
import { PageModeler } from './page-modeler.js';

/** Pages in work at one time, most of them waiting for a model; the others go to the next replica. */
const PAGES_AT_ONCE = { capacity: 256, queue: 'extractor' };

@Controller()
export class PagesController {
  constructor(
    @Inject(PageModeler) private readonly modeler: PageModeler,
    @Inject(CrawlPlanner) private readonly planner: CrawlPlanner,
  ) {}

  @MessagePattern(RPC.pageModel, PAGES_AT_ONCE)
  async page(
    @Payload() { head, body }: RpcRequest<PageModelRequest>,
    @Ctx() context: NatsContext,
  ): Promise<{ head: PageModelReply }> {
    return { head: await this.modeler.answer(head, parseTexts(body), callerOf(context)) };
  }

  @MessagePattern(RPC.crawlOptions, PAGES_AT_ONCE)
  async crawl(
    @Payload() { head }: RpcRequest<CrawlOptionsRequest>,
    @Ctx() context: NatsContext,
  ): Promise<{ head: CrawlOptionsReply }> {
    return { head: await this.planner.plan(head, callerOf(context)) };
  }
}

/** Fires when the caller gives up; never for callers that cannot say so. */
function callerOf(context: NatsContext): AbortSignal {
  return context.signal ?? new AbortController().signal;
}

/** Only fields that would break the reading are checked here: both services are of one release. */
function parseTexts(body: Uint8Array): PageTexts {
  const texts = readJson(body);
  if (typeof texts?.markdown !== 'string') throw new TroupeError('BAD_REQUEST', 'The texts of the page cannot be read');
  return texts as PageTexts;
}

function readJson(body: Uint8Array): Partial<PageTexts> | null {
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString()) as Partial<PageTexts> | null;
  } catch (cause) {
    throw new TroupeError('BAD_REQUEST', 'The texts of the page cannot be read', { cause });
  }
}
