import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { type HostSetting } from '@troupe/contracts';
import { type AuditAuthor } from '@troupe/persistence';
import { HostsService } from '../../admin/hosts.service.js';
import { InjectConfig } from '../../settings.js';
import { hostBody } from '../hosts.mapper.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { customIssue, InvalidBodyError } from '../validation/issue.js';
import { type ReadBody } from '../validation/read-body.js';
import { AdminOnly, AsAuthor } from './admin.guard.js';
import { HostSettingDto, readHost, readPattern, readStates } from './hosts.dto.js';
import { readCount, readSkip } from './queries.js';

const MAX_ROWS = 1_000;

@AdminOnly()
@Controller('admin/hosts')
export class AdminHostsController {
  constructor(
    private readonly hosts: HostsService,
    @InjectConfig() private readonly config: Readonly<TroupeConfig>,
  ) {}

  /** Hosts in `state` (a list with commas; all but `open`), worst first, and everything that is set. */
  @Get()
  async list(@Query() query: { state?: string; limit?: string; skip?: string }) {
    const range = { skip: readSkip(query.skip), limit: readCount('limit', query.limit, MAX_ROWS) };
    const [hosts, settings] = await Promise.all([
      this.hosts.list(readStates(query.state), range),
      this.hosts.settings(),
    ]);
    return { success: true, hosts: hosts.map((host) => hostBody(host, null)), settings };
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
    @Body(new BodyPipe(HostSettingDto)) { body }: ReadBody<HostSettingDto>,
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

  /** Treated as its settings say from now on, whatever has led to something else. */
  @Post(':host/release')
  @HttpCode(200)
  async release(@AsAuthor() by: AuditAuthor, @Param('host') text: string) {
    await this.hosts.release(readHost(text), by);
    return { success: true };
  }

  private settingOf(pattern: string, body: HostSettingDto): HostSetting {
    if (body.crawlDelay === 0 && !this.config.allowIgnoreRobots)
      throw new InvalidBodyError([customIssue('0 needs ALLOW_IGNORE_ROBOTS=true', ['crawlDelay'])]);
    const set = Object.entries(body).filter(([, value]) => value !== undefined);
    return { pattern, ...Object.fromEntries(set) };
  }
}
