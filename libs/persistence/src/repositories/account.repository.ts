/** Callers: teams and their API keys, as the gateway looks them up. Keys are stored as SHA-256 only. */
import { createHash } from 'node:crypto';
import type { TeamFlags, Uuid } from '@troupe/contracts';
import type pg from 'pg';
import { withTransaction } from '../pool.js';

export interface TeamAccount {
  teamId: Uuid;
  teamName: string;
  /** Pages of the team that may be in work at once; null = the installation's default. */
  concurrency: number | null;
  /** Credits per calendar month; null = unlimited. */
  creditsLimit: number | null;
  /** It has a language model of its own. */
  hasModel: boolean;
  flags: TeamFlags;
}

export interface KeyOwner extends TeamAccount {
  keyId: Uuid;
  /** Time until the key expires; null = it does not. */
  expiresInMs: number | null;
}

/** SHA-256: keys are random, so a slow hash would protect nothing more. */
export function hashApiKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

const MAX_PREFIX = 8;

/** Enough of a key to recognise it, never more than a third of it. */
export function keyPrefix(key: string): string {
  return key.slice(0, Math.min(MAX_PREFIX, Math.floor(key.length / 3)));
}

const ACCOUNT = `t.id AS "teamId", t.name AS "teamName", t.concurrency, t.credits_limit::float8 AS "creditsLimit",
  t.model IS NOT NULL AS "hasModel", t.flags`;

const FIND_KEY = `SELECT k.id AS "keyId", ${ACCOUNT},
    (extract(epoch FROM k.expires_at - now()) * 1000)::float8 AS "expiresInMs"
  FROM api_key k JOIN team t ON t.id = k.team_id
  WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`;

const MARK_USED = `UPDATE api_key SET last_used_at = now()
  WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`;

const MAKE_TEAM = `INSERT INTO team (name) VALUES ($1) ON CONFLICT (name) DO NOTHING`;
const FIND_TEAM = `SELECT ${ACCOUNT} FROM team t WHERE t.name = $1`;

export class AccountRepository {
  constructor(private readonly pool: pg.Pool) {}

  /** Owner of a key that is neither revoked nor expired. */
  async findKey(hash: Buffer): Promise<KeyOwner | null> {
    const { rows } = await this.pool.query<KeyOwner>({ name: 'key-find', text: FIND_KEY, values: [hash] });
    return rows[0] ?? null;
  }

  /** Notes when a key was used, at most once a minute. */
  async markUsed(keyId: Uuid): Promise<void> {
    await this.pool.query({ name: 'key-used', text: MARK_USED, values: [keyId] });
  }

  /** Makes the team when it is missing; an existing one keeps its settings. */
  async ensureTeam(name: string): Promise<TeamAccount> {
    const find = () => this.pool.query<TeamAccount>({ name: 'team-find', text: FIND_TEAM, values: [name] });
    const found = await find();
    if (found.rows[0] !== undefined) return found.rows[0];
    await this.pool.query(MAKE_TEAM, [name]);
    return (await find()).rows[0]!;
  }

  /**
   * Makes team and key when they are missing; an existing team keeps its settings, a revoked key stays revoked.
   * @throws Error when another team has this key.
   */
  ensureTeamWithKey(name: string, key: string): Promise<{ teamId: Uuid; keyId: Uuid }> {
    return withTransaction(this.pool, async (client) => {
      await client.query(MAKE_TEAM, [name]);
      const team = await client.query<{ id: Uuid }>(`SELECT id FROM team WHERE name = $1`, [name]);
      const teamId = team.rows[0]!.id;
      const hash = hashApiKey(key);
      await client.query(
        `INSERT INTO api_key (hash, team_id, name, prefix) VALUES ($1, $2, 'bootstrap', $3) ON CONFLICT (hash) DO NOTHING`,
        [hash, teamId, keyPrefix(key)],
      );
      const found = await client.query<{ id: Uuid; team_id: Uuid }>(`SELECT id, team_id FROM api_key WHERE hash = $1`, [
        hash,
      ]);
      const { id: keyId, team_id: owner } = found.rows[0]!;
      if (owner !== teamId) throw new Error(`the API key given for team "${name}" belongs to another team`);
      return { teamId, keyId };
    });
  }
}
