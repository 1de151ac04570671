/** How hosts are treated: looked at, set and released by an operator. */
import { randomUUID } from 'node:crypto';
import { actorKey, type HostSetting, type HostState } from '@troupe/contracts';
import {
  type AuditAuthor,
  type AuditLog,
  type HostRepository,
  type HostSettingRepository,
  type ListPage,
  type ListRange,
  type StoredHost,
} from '@troupe/persistence';
import { ApiError } from '../errors/api-error.js';
import { type Publisher } from '../jobs/ports.js';

export interface HostsParts {
  hosts: Pick<HostRepository, 'inStates' | 'ofNames'>;
  settings: Pick<HostSettingRepository, 'list' | 'get' | 'put' | 'remove'>;
  audit: Pick<AuditLog, 'record'>;
  publisher: Publisher;
  instance: string;
}

export class HostsService {
  constructor(private readonly parts: HostsParts) {}

  /** Worst first. */
  list(states: readonly HostState[], range: ListRange): Promise<ListPage<StoredHost>> {
    return this.parts.hosts.inStates(states, range);
  }

  /** By pattern. */
  settings(range: ListRange): Promise<ListPage<HostSetting>> {
    return this.parts.settings.list(range);
  }

  /** What is known of a host or pattern. @throws ApiError 404: nothing is */
  async find(pattern: string): Promise<{ host: StoredHost | null; setting: HostSetting | null }> {
    const [setting, hosts] = await Promise.all([this.parts.settings.get(pattern), this.parts.hosts.ofNames([pattern])]);
    const host = hosts[0] ?? null;
    if (host === null && setting === null) throw new ApiError(404, 'Host not found');
    return { host, setting };
  }

  /** Replaces what was set for the pattern. In force everywhere within 5 s. */
  set(setting: HostSetting, by: AuditAuthor): Promise<void> {
    return this.parts.settings.put(setting, by);
  }

  /** @throws ApiError 404 */
  async unset(pattern: string, by: AuditAuthor): Promise<void> {
    if (!(await this.parts.settings.remove(pattern, by))) throw new ApiError(404, 'Host setting not found');
  }

  /** Its actor forgets verdicts, votes and pauses: from now on it is treated as its settings say. Repeating it is fine. */
  async release(host: string, by: AuditAuthor): Promise<void> {
    const { audit, publisher, instance } = this.parts;
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
