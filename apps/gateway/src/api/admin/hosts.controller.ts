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
import { type HostSetting, type HostSettingValues } from '@troupe/contracts';
import { type AuditAuthor } from '@troupe/persistence';
import { CONFIG } from '@troupe/service';
import type { Request } from 'express';
import { HostsService } from '../../admin/hosts.service.js';
import { ReadsLists } from '../../http/heavy-reads.js';
import { hostBody } from '../hosts.mapper.js';
import { nextOf, placeOf, shareAnswer } from '../list-query.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { customIssue, InvalidBodyError } from '../validation/issue.js';
import { type ReadBody } from '../validation/read-body.js';
import { AdminOnly, AsAuthor } from './admin.guard.js';
import { HostSettingDto, readHost, readPattern, readStates } from './hosts.dto.js';

/** Traits of the list of hosts, and of the list of settings. */
const TRAITS = { keys: [['int', 'real', 'text'], ['text']] } as const;
/** Place past all hosts: when `skip` leaves none, they do not begin anew on the next page. */
const PAST_HOSTS = ['9', '0', ''];

@AdminOnly()
@Controller('admin/hosts')
export class AdminHostsController {
  constructor(
    private readonly hosts: HostsService,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  /** Hosts in `state` (a list with commas; all but `open`), worst first, and everything that is set. */
  @Get()
  @UseInterceptors(ReadsLists)
  async list(@Query() { state }: { state?: string }, @Req() request: Request) {
    const { base, query, more } = placeOf(request, this.config, TRAITS, { state });
    const { skip, limit } = query;
    const [afterHost = null, afterSetting = null] = query.after;
    const found = await this.hosts.list(readStates(state), { skip, limit, after: afterHost });
    // `skip` applies to hosts only.
    const set = await this.hosts.settings({ skip: 0, limit, after: afterSetting });
    const {
      bodies: [hosts, settings],
      after,
    } = shareAnswer(
      { found, bodyOf: (host) => hostBody(host, null), after: afterHost, past: skip > 0 ? PAST_HOSTS : null },
      { found: set, bodyOf: ({ key: _, ...setting }) => setting, after: afterSetting },
      limit,
    );
    return { success: true, hosts, settings, ...(after === null ? {} : { next: nextOf(base, query, after, more) }) };
  }

  @Get(':pattern')
  async find(@Param('pattern') text: string) {
    const { host, setting } = await this.hosts.find(readPattern(text));
    return { success: true, host: host === null ? null : hostBody(host, null), setting };
  }

  /** Replaces what was set. */
  @Put(':pattern')
  async set(
    @AsAuthor() by: AuditAuthor,
    @Param('pattern') text: string,
    @Body(BodyPipe(HostSettingDto)) { body }: ReadBody<HostSettingValues>,
  ) {
    const setting = this.settingOf(readPattern(text), body);
    await this.hosts.set(setting, by);
    return { success: true, setting };
  }

  @Delete(':pattern')
  async unset(@AsAuthor() by: AuditAuthor, @Param('pattern') text: string) {
    await this.hosts.unset(readPattern(text), by);
    return { success: true };
  }

  /** Treats the host as its settings say from now on, for whatever reason it was treated differently. */
  @Post(':host/release')
  @HttpCode(200)
  async release(@AsAuthor() by: AuditAuthor, @Param('host') text: string) {
    await this.hosts.release(readHost(text), by);
    return { success: true };
  }

  private settingOf(pattern: string, body: HostSettingValues): HostSetting {
    if (body.crawlDelay === 0 && !this.config.allowIgnoreRobots)
      throw new InvalidBodyError([customIssue('0 needs ALLOW_IGNORE_ROBOTS=true', ['crawlDelay'])]);
    const set = Object.entries(body).filter(([, value]) => value !== undefined);
    return { pattern, ...Object.fromEntries(set) };
  }
}
