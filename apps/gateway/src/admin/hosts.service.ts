/** The treatment of hosts: an operator reads, sets and releases it. */
import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ActorBus } from '@troupe/messaging';
import { actorKey, type HostSetting, type HostState } from '@troupe/contracts';
import {
  AuditLog,
  HostRepository,
  HostSettingRepository,
  type AuditAuthor,
  type ListPage,
  type ListRange,
  type StoredHost,
} from '@troupe/persistence';
import { INSTANCE } from '@troupe/service';
import { ApiError } from '../errors/api-error.js';
import { type Publisher } from '../jobs/ports.js';

@Injectable()
export class HostsService {
  constructor(
    @Inject(HostRepository) private readonly hosts: Pick<HostRepository, 'inStates' | 'ofNames'>,
    @Inject(HostSettingRepository)
    private readonly stored: Pick<HostSettingRepository, 'list' | 'get' | 'put' | 'remove'>,
    @Inject(AuditLog) private readonly audit: Pick<AuditLog, 'record'>,
    @Inject(ActorBus) private readonly publisher: Publisher,
    @Inject(INSTANCE) private readonly instance: string,
  ) {}

  /** Worst first. */
  list(states: readonly HostState[], range: ListRange): Promise<ListPage<StoredHost>> {
    return this.hosts.inStates(states, range);
  }

  /** By pattern. */
  settings(range: ListRange): Promise<ListPage<HostSetting>> {
    return this.stored.list(range);
  }

  /** State and setting of a host or pattern. @throws ApiError 404 when nothing is known of it */
  async find(pattern: string): Promise<{ host: StoredHost | null; setting: HostSetting | null }> {
    const [setting, hosts] = await Promise.all([this.stored.get(pattern), this.hosts.ofNames([pattern])]);
    const host = hosts[0] ?? null;
    if (host === null && setting === null) throw new ApiError(404, 'Host not found');
    return { host, setting };
  }

  /** Replaces what was set for the pattern. In force everywhere within 5 s. */
  set(setting: HostSetting, by: AuditAuthor): Promise<void> {
    return this.stored.put(setting, by);
  }

  /** @throws ApiError 404 */
  async unset(pattern: string, by: AuditAuthor): Promise<void> {
    if (!(await this.stored.remove(pattern, by))) throw new ApiError(404, 'Host setting not found');
  }

  /** Its actor forgets verdicts, votes and pauses: from now on it is treated as its settings say. Repeating it is fine. */
  async release(host: string, by: AuditAuthor): Promise<void> {
    const { audit, publisher, instance } = this;
    await audit.record(by, { action: 'host.release', target: host });
    await publisher.publishActor({
      id: `release.${host}.${randomUUID()}`,
      type: 'HostRelease',
      v: 1,
      from: `gw/${instance}`,
      to: actorKey('domain', host),
      n: null,
      body: { type: 'HostRelease', host },
    });
  }
}
