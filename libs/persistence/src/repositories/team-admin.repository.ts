/** Teams, their keys and secrets, as the operator manages them. Every change leaves an audit entry. */
import { shownProxy, type ModelAccess, type ProxyLists, type Uuid } from '@troupe/contracts';
import type { DataSource, QueryDeepPartialEntity, Repository } from 'typeorm';
import { inTransaction } from '../data-source.js';
import { ApiKeyEntity, TeamEntity } from '../entities.js';
import type { ApiKey, KeyRecord, Team, TeamRecord, TeamSettings } from '../entities.js';
import { hashApiKey, keyPrefix } from './account.repository.js';
import { recordAudit, type AuditAuthor, type AuditChange } from './audit-log.js';
import { BEFORE_ALL, keyTime, NO_ID, readEntities, timeKey, type ListPage, type ListRange } from './list-page.js';

export interface NewKey {
  name: string;
  /** The key itself: hashed here, kept nowhere. */
  key: string;
  expiresAt: Date | null;
}

const BY_NAME = { text: 'name > $1 ORDER BY name OFFSET $2 LIMIT $3', key: 'name', start: [''] };
const BY_AGE = {
  text: `team_id = $1 AND (created_at, id) > (${keyTime('$2')}, $3::uuid) ORDER BY created_at, id OFFSET $4 LIMIT $5`,
  key: `${timeKey('created_at')}, id::text`,
  start: [BEFORE_ALL, NO_ID],
};

const UNIQUE_VIOLATION = '23505';

export class TeamAdminRepository {
  private readonly teams: Repository<Team>;
  private readonly keys: Repository<ApiKey>;

  constructor(private readonly dataSource: DataSource) {
    this.teams = dataSource.getRepository(TeamEntity.name);
    this.keys = dataSource.getRepository(ApiKeyEntity.name);
  }

  /** null when the name is taken. */
  createTeam(settings: TeamSettings, by: AuditAuthor): Promise<TeamRecord | null> {
    return inTransaction(this.dataSource, async (manager) => {
      const teams = manager.withRepository(this.teams);
      const insert = teams
        .createQueryBuilder()
        .insert()
        .values(settings)
        .orIgnore()
        .returning('id')
        .updateEntity(false);
      const [made] = (await insert.execute()).raw as { id: Uuid }[];
      if (made === undefined) return null;
      await recordAudit(manager, by, { action: 'team.create', target: made.id, details: { ...settings } });
      return teams.findOneBy(made);
    });
  }

  /** By name. */
  listTeams(range: ListRange): Promise<ListPage<TeamRecord>> {
    return readEntities(this.teams, BY_NAME, range);
  }

  findTeam(id: Uuid): Promise<TeamRecord | null> {
    return this.teams.findOneBy({ id });
  }

  /** Changes the given settings. null when there is no such team, `taken` when another one has the name. */
  async updateTeam(id: Uuid, changes: Partial<TeamSettings>, by: AuditAuthor): Promise<TeamRecord | null | 'taken'> {
    try {
      return await this.change(id, changes, by, () => ({ action: 'team.update', details: { ...changes } }));
    } catch (error) {
      if ((error as { code?: unknown }).code === UNIQUE_VIOLATION) return 'taken';
      throw error;
    }
  }

  /** null when there is no such team. */
  createKey(team: Uuid, { name, key, expiresAt }: NewKey, by: AuditAuthor): Promise<KeyRecord | null> {
    return inTransaction(this.dataSource, async (manager) => {
      if (!(await manager.withRepository(this.teams).existsBy({ id: team }))) return null;
      const hash = hashApiKey(key);
      const keys = manager.withRepository(this.keys);
      await keys.insert({ hash, teamId: team, name, prefix: keyPrefix(key), expiresAt });
      const made = await keys.findOneByOrFail({ hash });
      await recordAudit(manager, by, { action: 'key.create', target: made.id, details: { team, name, expiresAt } });
      return made;
    });
  }

  /** Oldest first. */
  listKeys(team: Uuid, range: ListRange): Promise<ListPage<KeyRecord>> {
    return readEntities(this.keys, { ...BY_AGE, values: [team] }, range);
  }

  /** Repeating it changes nothing. null when the team has no such key. */
  revokeKey(team: Uuid, id: Uuid, by: AuditAuthor): Promise<KeyRecord | null> {
    return inTransaction(this.dataSource, async (manager) => {
      const keys = manager.withRepository(this.keys);
      await keys.update({ teamId: team, id }, { revokedAt: () => 'coalesce(revoked_at, now())' });
      const key = await keys.findOneBy({ teamId: team, id });
      if (key !== null) await recordAudit(manager, by, { action: 'key.revoke', target: id, details: { team } });
      return key;
    });
  }

  /** Replaces what the team had; two empty lists give it back to those of the installation. null when there is no such team. */
  setProxies(team: Uuid, lists: ProxyLists, by: AuditAuthor): Promise<TeamRecord | null> {
    const isEmpty = lists.basic.length + lists.stealth.length === 0;
    const details = { basic: lists.basic.map(shownProxy), stealth: lists.stealth.map(shownProxy) };
    return this.change(team, { proxies: isEmpty ? null : lists }, by, () => ({ action: 'proxies.set', details }));
  }

  /** null gives the team back to the installation's model. Resolves with null when there is no such team. */
  setModel(team: Uuid, modelAccess: ModelAccess | null, by: AuditAuthor): Promise<TeamRecord | null> {
    return this.change(team, { modelAccess }, by, ({ model }) => ({ action: 'model.set', details: { model } }));
  }

  /** The former secret stays beside the new one, for receivers that check by it still. False when there is no such team. */
  async setWebhookSecret(team: Uuid, webhookSecret: string, by: AuditAuthor): Promise<boolean> {
    const rotation = { webhookSecretPrevious: () => 'webhook_secret', webhookSecretRotatedAt: () => 'now()' };
    const change = { webhookSecret, ...rotation };
    return (await this.change(team, change, by, () => ({ action: 'webhook-secret.set' }))) !== null;
  }

  /** null when there is no such team. */
  private change(
    id: Uuid,
    values: QueryDeepPartialEntity<Team>,
    by: AuditAuthor,
    entryOf: (team: TeamRecord) => Omit<AuditChange, 'target'>,
  ): Promise<TeamRecord | null> {
    return inTransaction(this.dataSource, async (manager) => {
      const teams = manager.withRepository(this.teams);
      // The id stands for values that are none: TypeORM refuses to set nothing.
      await teams.update({ id }, { id, ...values });
      const team = await teams.findOneBy({ id });
      if (team !== null) await recordAudit(manager, by, { ...entryOf(team), target: id });
      return team;
    });
  }
}
