import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Inject,
  Param,
  Post,
  Put,
  Query,
  Req,
  UseInterceptors,
} from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { dayOf } from '@troupe/contracts';
import { blockEntry } from '@troupe/egress';
import { AuditLog, BlocklistRepository, UsageRepository, type AuditAuthor } from '@troupe/persistence';
import { CONFIG } from '@troupe/service';
import type { Request } from 'express';
import { DeadLettersService } from '../../admin/dead-letters.service.js';
import { ApiError } from '../../errors/api-error.js';
import { ReadsLists } from '../../http/heavy-reads.js';
import { TOKENS_PER_CREDIT } from '../account.mapper.js';
import { listAnswer, placeOf, rangeOf, type KeyPart, type ListPlace } from '../list-query.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { ListField, TextField } from '../validation/fields.js';
import { customIssue, InvalidBodyError, wrongType } from '../validation/issue.js';
import { type ReadBody } from '../validation/read-body.js';
import { AdminOnly, AsAuthor } from './admin.guard.js';
import { readDateQuery, readId, readTeam } from './queries.js';

const MAX_HOSTS_A_CALL = 10_000;
/** Every gateway and fetcher keeps the list in memory. */
const MAX_HOSTS = 100_000;
const DAY_MS = 86_400_000;
const USAGE_DAYS = 31;

function HostsField(): PropertyDecorator {
  return ListField(
    (value) => {
      if (typeof value !== 'string') return [wrongType('string', value)];
      return blockEntry(value) === null ? [customIssue('Not a host name or an IP address')] : [];
    },
    { required: true, minItems: 1, maxItems: MAX_HOSTS_A_CALL },
  );
}

export class UnblockDto {
  @HostsField() hosts!: string[];
}

export class BlockDto extends UnblockDto {
  @TextField({ maxLength: 500, stored: true }) reason?: string;
}

interface Span {
  from?: string;
  to?: string;
}

@AdminOnly()
@Controller('admin')
export class AdminRecordsController {
  constructor(
    private readonly usage: UsageRepository,
    private readonly audit: AuditLog,
    private readonly blocklist: BlocklistRepository,
    private readonly letters: DeadLettersService,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  /** Days in UTC, `to` not included; the last 31 days by default. A job counts for the day on which it started. */
  @Get('usage')
  @UseInterceptors(ReadsLists)
  async listUsage(@Query() query: Span & { team?: string }, @Req() request: Request) {
    const to = readDateQuery('to', query.to) ?? new Date(Date.now() + DAY_MS);
    const from = readDateQuery('from', query.from) ?? new Date(to.getTime() - USAGE_DAYS * DAY_MS);
    const span = { fromDay: Math.max(0, dayOf(from.getTime())), toDay: Math.max(0, dayOf(to.getTime())) };
    const more = { team: query.team, from: query.from, to: query.to };
    const place = this.placeOf(request, ['int', 'uuid', 'int', 'text', 'uuid'], more);
    const days = await this.usage.byDay(readTeam(query.team), span, rangeOf(place.query));
    return listAnswer(
      'usage',
      days,
      ({ day, credits, key: _, ...use }) => ({
        day: day.toISOString().slice(0, 10),
        ...use,
        credits,
        tokens: credits * TOKENS_PER_CREDIT,
      }),
      place,
    );
  }

  /** Newest first. */
  @Get('audit')
  @UseInterceptors(ReadsLists)
  async listAudit(@Query() { from, to }: Span, @Req() request: Request) {
    const place = this.placeOf(request, ['int', 'int'], { from, to });
    const entries = await this.audit.list({
      from: readDateQuery('from', from),
      to: readDateQuery('to', to),
      range: rangeOf(place.query),
    });
    return listAnswer('entries', entries, dated, place);
  }

  @Get('blocklist')
  @UseInterceptors(ReadsLists)
  async listBlocked(@Req() request: Request) {
    const place = this.placeOf(request, ['text']);
    return listAnswer('hosts', await this.blocklist.list(rangeOf(place.query)), dated, place);
  }

  /** Adds hosts, each with everything below it. In force everywhere within 30 s. */
  @Put('blocklist')
  async block(@AsAuthor() by: AuditAuthor, @Body(BodyPipe(BlockDto)) { body }: ReadBody<BlockDto>) {
    if ((await this.blocklist.count()) + body.hosts.length > MAX_HOSTS)
      throw new InvalidBodyError([customIssue(`The blocklist holds at most ${MAX_HOSTS} hosts`, ['hosts'])]);
    const hosts = entriesOf(body);
    await this.blocklist.add(hosts, body.reason ?? null, by);
    return { success: true, hosts };
  }

  @Delete('blocklist')
  async unblock(@AsAuthor() by: AuditAuthor, @Body(BodyPipe(UnblockDto)) { body }: ReadBody<UnblockDto>) {
    return { success: true, removed: await this.blocklist.remove(entriesOf(body), by) };
  }

  /** Newest first; `before` is the id of the last one seen. */
  @Get('dead-letters')
  @UseInterceptors(ReadsLists)
  async listLetters(@Query() { before }: { before?: string }, @Req() request: Request) {
    const place = this.placeOf(request, ['int']);
    const range = rangeOf(place.query);
    const after = range.after ?? (before === undefined ? null : [readId(before)]);
    const letters = await this.letters.list({ ...range, after });
    return listAnswer('deadLetters', letters, ({ to, ...letter }) => ({ ...dated(letter), key: to }), place);
  }

  @Post('dead-letters/:id/replay')
  @HttpCode(200)
  async replay(@AsAuthor() by: AuditAuthor, @Param('id') id: string) {
    await this.letters.replay(readId(id), by);
    return { success: true };
  }

  private placeOf(request: Request, key: readonly KeyPart[], more: ListPlace['more'] = {}): ListPlace {
    return placeOf(request, this.config, { keys: [key] }, more);
  }
}

function dated<Row extends { at: Date; key: unknown }>({ at, key: _, ...row }: Row) {
  return { ...row, at: at.toISOString() };
}

function entriesOf({ hosts }: UnblockDto): string[] {
  return hosts.map((host) => {
    const entry = blockEntry(host);
    if (entry === null) throw new ApiError(400, 'Bad Request', { code: 'BAD_REQUEST' });
    return entry;
  });
}
