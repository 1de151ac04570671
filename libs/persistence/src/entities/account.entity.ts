import type { ProxyLists, TeamFlags, Uuid } from '@troupe/contracts';
import type { EntitySchemaOptions } from 'typeorm';

export interface Team {
  id: Uuid;
  name: string;
  /** Pages of this team that may be in work at once; null = `TEAM_CONCURRENCY`. */
  concurrency: number | null;
  /** Credits per calendar month (UTC) with `BILLING=on`; null = unlimited. */
  creditsLimit: string | null;
  flags: TeamFlags;
  /** null = those of the installation. */
  proxies: ProxyLists | null;
  createdAt: Date;
}

export const TeamEntity: EntitySchemaOptions<Team> = {
  name: 'Team',
  tableName: 'team',
  columns: {
    id: { type: 'uuid', primary: true, default: () => 'gen_random_uuid()' },
    name: { type: 'text', unique: true },
    concurrency: { type: 'int', nullable: true },
    creditsLimit: { name: 'credits_limit', type: 'bigint', nullable: true },
    flags: { type: 'jsonb' },
    proxies: { type: 'jsonb', nullable: true },
    createdAt: { name: 'created_at', type: 'timestamptz', default: () => 'now()' },
  },
};

/** A key is stored as its SHA-256 only. */
export interface ApiKey {
  hash: Buffer;
  id: Uuid;
  teamId: Uuid;
  name: string;
  /** First characters of the key, to recognise it by. */
  prefix: string;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  /** Within about a minute; null = never. */
  lastUsedAt: Date | null;
}

export const ApiKeyEntity: EntitySchemaOptions<ApiKey> = {
  name: 'ApiKey',
  tableName: 'api_key',
  columns: {
    hash: { type: 'bytea', primary: true },
    id: { type: 'uuid', default: () => 'gen_random_uuid()' },
    teamId: { name: 'team_id', type: 'uuid' },
    name: { type: 'text' },
    prefix: { type: 'text', default: "''" },
    createdAt: { name: 'created_at', type: 'timestamptz', default: () => 'now()' },
    expiresAt: { name: 'expires_at', type: 'timestamptz', nullable: true },
    revokedAt: { name: 'revoked_at', type: 'timestamptz', nullable: true },
    lastUsedAt: { name: 'last_used_at', type: 'timestamptz', nullable: true },
  },
};
