/** Teams and their API keys. Keys are stored as SHA-256 only. */
import { createHash } from 'node:crypto';
import type { Uuid } from '@troupe/contracts';
import type { DataSource } from 'typeorm';
import { poolOf } from '../data-source.js';
import { withTransaction } from '../pool.js';

export interface KeyOwner {
  keyId: Uuid;
  teamId: Uuid;
  teamName: string;
  /** Pages of the team that may be in work at once. */
  concurrency: number;
  flags: Record<string, unknown>;
}

export function hashApiKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

const FIND_KEY = `SELECT k.id AS "keyId", t.id AS "teamId", t.name AS "teamName", t.concurrency, t.flags
  FROM api_key k JOIN team t ON t.id = k.team_id
  WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`;

export class AccountRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** Owner of a key that is neither revoked nor expired. */
  async findKey(hash: Buffer): Promise<KeyOwner | null> {
    const { rows } = await poolOf(this.dataSource).query<KeyOwner>({
      name: 'key-find',
      text: FIND_KEY,
      values: [hash],
    });
    return rows[0] ?? null;
  }

  /**
   * Makes team and key when they are missing; an existing team keeps its settings, a revoked key stays revoked.
   * @throws Error when another team has this key.
   */
  ensureTeamWithKey(name: string, key: string, concurrency: number): Promise<{ teamId: Uuid; keyId: Uuid }> {
    return withTransaction(poolOf(this.dataSource), async (client) => {
      await client.query(`INSERT INTO team (name, concurrency) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, [
        name,
        concurrency,
      ]);
      const team = await client.query<{ id: Uuid }>(`SELECT id FROM team WHERE name = $1`, [name]);
      const teamId = team.rows[0]!.id;
      const hash = hashApiKey(key);
      await client.query(
        `INSERT INTO api_key (hash, team_id, name) VALUES ($1, $2, 'bootstrap') ON CONFLICT (hash) DO NOTHING`,
        [hash, teamId],
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
