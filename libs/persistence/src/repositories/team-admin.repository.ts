/** Teams, their keys and secrets, as the operator manages them. Every change leaves an audit entry. */
import {
  shownProxy,
  type ModelAccess,
  type ProxyLists,
  type ShownModel,
  type TeamFlags,
  type Uuid,
} from '@troupe/contracts';
import type pg from 'pg';
import { withTransaction } from '../pool.js';
import { hashApiKey, keyPrefix } from './account.repository.js';
import { recordAudit, type AuditAuthor } from './audit-log.js';
import { BEFORE_ALL, keyTime, NO_ID, readPage, timeKey, type ListPage, type ListRange } from './list-page.js';

export interface TeamSettings {
  name: string;
  /** null = `TEAM_CONCURRENCY`. */
  concurrency: number | null;
  /** Credits per calendar month; null = unlimited. */
  creditsLimit: number | null;
  flags: TeamFlags;
}

export interface TeamRecord extends TeamSettings {
  id: Uuid;
  hasWebhookSecret: boolean;
  /** null = those of the installation. */
  proxies: ProxyLists | null;
  /** null = the one of the installation. */
  model: ShownModel | null;
  createdAt: Date;
}

export interface KeyRecord {
  id: Uuid;
  name: string;
  prefix: string;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
}

export interface NewKey {
  name: string;
  /** The key itself: hashed here, kept nowhere. */
  key: string;
  expiresAt: Date | null;
}

/** The key of a model stays where it is. */
const SHOWN_MODEL = `model - 'apiKey' || jsonb_build_object('hasKey', model->>'apiKey' IS NOT NULL) AS model`;
const TEAM_COLUMNS = `id, name, concurrency, credits_limit::float8 AS "creditsLimit", flags,
  webhook_secret IS NOT NULL AS "hasWebhookSecret", proxies, ${SHOWN_MODEL}, created_at AS "createdAt"`;
const KEY_COLUMNS = `id, name, prefix, created_at AS "createdAt", expires_at AS "expiresAt", revoked_at AS "revokedAt",
  last_used_at AS "lastUsedAt"`;

const INSERT_TEAM = `INSERT INTO team (name, concurrency, credits_limit, flags) VALUES ($1, $2, $3, $4)
  ON CONFLICT (name) DO NOTHING RETURNING ${TEAM_COLUMNS}`;
const UPDATE_TEAM = `UPDATE team SET name = $2, concurrency = $3, credits_limit = $4, flags = $5 WHERE id = $1
  RETURNING ${TEAM_COLUMNS}`;
const LIST_TEAMS = `SELECT ${TEAM_COLUMNS}, ARRAY[name] AS key FROM team WHERE name > $1 ORDER BY name OFFSET $2 LIMIT $3`;
const FIND_TEAM = `SELECT ${TEAM_COLUMNS} FROM team WHERE id = $1`;

const INSERT_KEY = `INSERT INTO api_key (hash, team_id, name, prefix, expires_at)
  SELECT $2, id, $3, $4, $5 FROM team WHERE id = $1 RETURNING ${KEY_COLUMNS}`;
const LIST_KEYS = `SELECT ${KEY_COLUMNS}, ARRAY[${timeKey('created_at')}, id::text] AS key FROM api_key
  WHERE team_id = $1 AND (created_at, id) > (${keyTime('$2')}, $3::uuid) ORDER BY created_at, id OFFSET $4 LIMIT $5`;
const REVOKE_KEY = `UPDATE api_key SET revoked_at = coalesce(revoked_at, now()) WHERE team_id = $1 AND id = $2
  RETURNING ${KEY_COLUMNS}`;

/** The former secret stays beside the new one, for receivers that check by it still. */
const SET_SECRET = `UPDATE team SET webhook_secret_previous = webhook_secret, webhook_secret = $2,
    webhook_secret_rotated_at = now() WHERE id = $1 RETURNING id`;

const SET_PROXIES = `UPDATE team SET proxies = $2 WHERE id = $1 RETURNING ${TEAM_COLUMNS}`;
const SET_MODEL = `UPDATE team SET model = $2 WHERE id = $1 RETURNING ${TEAM_COLUMNS}`;

const UNIQUE_VIOLATION = '23505';

export class TeamAdminRepository {
  constructor(private readonly pool: pg.Pool) {}

  /** null when the name is taken. */
  createTeam(settings: TeamSettings, by: AuditAuthor): Promise<TeamRecord | null> {
    const { name, ...details } = settings;
    return withTransaction(this.pool, async (client) => {
      const team = await one<TeamRecord>(client, INSERT_TEAM, [name, ...columnsOf(details)]);
      if (team !== null)
        await recordAudit(client, by, { action: 'team.create', target: team.id, details: { ...settings } });
      return team;
    });
  }

  /** By name. */
  listTeams(range: ListRange): Promise<ListPage<TeamRecord>> {
    return readPage(this.pool, { text: LIST_TEAMS, start: [''] }, range);
  }

  findTeam(id: Uuid): Promise<TeamRecord | null> {
    return one(this.pool, FIND_TEAM, [id]);
  }

  /** Changes the given settings. null when there is no such team, `taken` when another one has the name. */
  async updateTeam(id: Uuid, changes: Partial<TeamSettings>, by: AuditAuthor): Promise<TeamRecord | null | 'taken'> {
    try {
      return await withTransaction(this.pool, async (client) => {
        const current = await one<TeamRecord>(client, `${FIND_TEAM} FOR UPDATE`, [id]);
        if (current === null) return null;
        const next: TeamSettings = { ...current, ...changes };
        const team = await one<TeamRecord>(client, UPDATE_TEAM, [id, next.name, ...columnsOf(next)]);
        await recordAudit(client, by, { action: 'team.update', target: id, details: { ...changes } });
        return team;
      });
    } catch (error) {
      if ((error as { code?: unknown }).code === UNIQUE_VIOLATION) return 'taken';
      throw error;
    }
  }

  /** null when there is no such team. */
  createKey(team: Uuid, { name, key, expiresAt }: NewKey, by: AuditAuthor): Promise<KeyRecord | null> {
    return withTransaction(this.pool, async (client) => {
      const values = [team, hashApiKey(key), name, keyPrefix(key), expiresAt];
      const made = await one<KeyRecord>(client, INSERT_KEY, values);
      if (made !== null)
        await recordAudit(client, by, { action: 'key.create', target: made.id, details: { team, name, expiresAt } });
      return made;
    });
  }

  /** Oldest first. */
  listKeys(team: Uuid, range: ListRange): Promise<ListPage<KeyRecord>> {
    return readPage(this.pool, { text: LIST_KEYS, values: [team], start: [BEFORE_ALL, NO_ID] }, range);
  }

  /** Repeating it changes nothing. null when the team has no such key. */
  revokeKey(team: Uuid, id: Uuid, by: AuditAuthor): Promise<KeyRecord | null> {
    return withTransaction(this.pool, async (client) => {
      const key = await one<KeyRecord>(client, REVOKE_KEY, [team, id]);
      if (key !== null) await recordAudit(client, by, { action: 'key.revoke', target: id, details: { team } });
      return key;
    });
  }

  /** Replaces what the team had; two empty lists give it back to those of the installation. null when there is no such team. */
  setProxies(team: Uuid, lists: ProxyLists, by: AuditAuthor): Promise<TeamRecord | null> {
    const isEmpty = lists.basic.length + lists.stealth.length === 0;
    return withTransaction(this.pool, async (client) => {
      const found = await one<TeamRecord>(client, SET_PROXIES, [team, isEmpty ? null : lists]);
      const details = { basic: lists.basic.map(shownProxy), stealth: lists.stealth.map(shownProxy) };
      if (found !== null) await recordAudit(client, by, { action: 'proxies.set', target: team, details });
      return found;
    });
  }

  /** null gives the team back to the installation's model. Resolves with null when there is no such team. */
  setModel(team: Uuid, model: ModelAccess | null, by: AuditAuthor): Promise<TeamRecord | null> {
    return withTransaction(this.pool, async (client) => {
      const found = await one<TeamRecord>(client, SET_MODEL, [team, model]);
      const details = { model: found?.model ?? null };
      if (found !== null) await recordAudit(client, by, { action: 'model.set', target: team, details });
      return found;
    });
  }

  /** False when there is no such team. */
  setWebhookSecret(team: Uuid, secret: string, by: AuditAuthor): Promise<boolean> {
    return withTransaction(this.pool, async (client) => {
      const found = await one<{ id: Uuid }>(client, SET_SECRET, [team, secret]);
      if (found !== null) await recordAudit(client, by, { action: 'webhook-secret.set', target: team });
      return found !== null;
    });
  }
}

function columnsOf({ concurrency, creditsLimit, flags }: Omit<TeamSettings, 'name'>): unknown[] {
  return [concurrency, creditsLimit, flags];
}

async function one<Row extends object>(
  db: pg.Pool | pg.PoolClient,
  text: string,
  values: unknown[],
): Promise<Row | null> {
  const { rows } = await db.query<Row>(text, values);
  return rows[0] ?? null;
}
