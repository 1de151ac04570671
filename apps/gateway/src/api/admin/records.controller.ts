import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query } from '@nestjs/common';
import { dayOf } from '@troupe/contracts';
import { blockEntry } from '@troupe/egress';
import { AuditLog, BlocklistRepository, UsageRepository, type AuditAuthor } from '@troupe/persistence';
import { DeadLettersService } from '../../admin/dead-letters.service.js';
import { ApiError } from '../../errors/api-error.js';
import { TOKENS_PER_CREDIT } from '../account.mapper.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { ListField, TextField } from '../validation/fields.js';
import { customIssue, InvalidBodyError, wrongType } from '../validation/issue.js';
import { type ReadBody } from '../validation/read-body.js';
import { AdminOnly, AsAuthor } from './admin.guard.js';
import { readCount, readDateQuery, readId, readTeam } from './queries.js';

const MAX_HOSTS_A_CALL = 10_000;
/** What every gateway and fetcher keeps in memory. */
const MAX_HOSTS = 100_000;
const DAY_MS = 86_400_000;
const USAGE_DAYS = 31;
const MAX_ROWS = 1_000;

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
  ) {}

  /** Days in UTC, `to` not included; the last 31 days by default. A job counts for the day on which it started. */
  @Get('usage')
  async listUsage(@Query() query: Span & { team?: string }) {
    const to = readDateQuery('to', query.to) ?? new Date(Date.now() + DAY_MS);
    const from = readDateQuery('from', query.from) ?? new Date(to.getTime() - USAGE_DAYS * DAY_MS);
    const span = { fromDay: Math.max(0, dayOf(from.getTime())), toDay: Math.max(0, dayOf(to.getTime())) };
    const days = await this.usage.byDay(readTeam(query.team), span);
    return {
      success: true,
      usage: days.map(({ day, credits, ...use }) => ({
        day: day.toISOString().slice(0, 10),
        ...use,
        credits,
        tokens: credits * TOKENS_PER_CREDIT,
      })),
    };
  }

  /** Newest first. */
  @Get('audit')
  async listAudit(@Query() query: Span & { limit?: string }) {
    const entries = await this.audit.list({
      from: readDateQuery('from', query.from),
      to: readDateQuery('to', query.to),
      limit: readCount('limit', query.limit, MAX_ROWS),
    });
    return { success: true, entries: entries.map(({ at, ...entry }) => ({ ...entry, at: at.toISOString() })) };
  }

  @Get('blocklist')
  async listBlocked() {
    const hosts = await this.blocklist.list();
    return { success: true, hosts: hosts.map(({ at, ...entry }) => ({ ...entry, at: at.toISOString() })) };
  }

  /** Adds hosts, each with everything below it. In force everywhere within 30 s. */
  @Put('blocklist')
  async block(@AsAuthor() by: AuditAuthor, @Body(new BodyPipe(BlockDto)) { body }: ReadBody<BlockDto>) {
    if ((await this.blocklist.count()) + body.hosts.length > MAX_HOSTS)
      throw new InvalidBodyError([customIssue(`The blocklist holds at most ${MAX_HOSTS} hosts`, ['hosts'])]);
    const hosts = entriesOf(body);
    await this.blocklist.add(hosts, body.reason ?? null, by);
    return { success: true, hosts };
  }

  @Delete('blocklist')
  async unblock(@AsAuthor() by: AuditAuthor, @Body(new BodyPipe(UnblockDto)) { body }: ReadBody<UnblockDto>) {
    return { success: true, removed: await this.blocklist.remove(entriesOf(body), by) };
  }

  /** Newest first; `before` is the id of the last one seen. */
  @Get('dead-letters')
  async listLetters(@Query() { limit, before }: { limit?: string; before?: string }) {
    const letters = await this.letters.list(
      readCount('limit', limit, MAX_ROWS),
      before === undefined ? null : readId(before),
    );
    return { success: true, deadLetters: letters.map(({ at, ...letter }) => ({ ...letter, at: at.toISOString() })) };
  }

  @Post('dead-letters/:id/replay')
  @HttpCode(200)
  async replay(@AsAuthor() by: AuditAuthor, @Param('id') id: string) {
    await this.letters.replay(readId(id), by);
    return { success: true };
  }
}

function entriesOf({ hosts }: UnblockDto): string[] {
  return hosts.map((host) => {
    const entry = blockEntry(host);
    if (entry === null) throw new ApiError(400, 'Bad Request', { code: 'BAD_REQUEST' });
    return entry;
  });
}
