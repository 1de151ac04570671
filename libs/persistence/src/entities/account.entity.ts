import type { Uuid } from '@troupe/contracts';
import type { EntitySchemaOptions } from 'typeorm';

export interface Team {
  id: Uuid;
  name: string;
  /** Pages of this team that may be in work at once. */
  concurrency: number;
  creditsLimit: string | null;
  flags: Record<string, unknown>;
  createdAt: Date;
}

export const TeamEntity: EntitySchemaOptions<Team> = {
  name: 'Team',
  tableName: 'team',
  columns: {
    id: { type: 'uuid', primary: true, default: () => 'gen_random_uuid()' },
    name: { type: 'text', unique: true },
    concurrency: { type: 'int' },
    creditsLimit: { name: 'credits_limit', type: 'bigint', nullable: true },
    flags: { type: 'jsonb' },
    createdAt: { name: 'created_at', type: 'timestamptz', default: () => 'now()' },
  },
};

/** A key is stored as its SHA-256 only. */
export interface ApiKey {
  hash: Buffer;
  id: Uuid;
  teamId: Uuid;
  name: string;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
}

export const ApiKeyEntity: EntitySchemaOptions<ApiKey> = {
  name: 'ApiKey',
  tableName: 'api_key',
  columns: {
    hash: { type: 'bytea', primary: true },
    id: { type: 'uuid', default: () => 'gen_random_uuid()' },
    teamId: { name: 'team_id', type: 'uuid' },
    name: { type: 'text' },
    createdAt: { name: 'created_at', type: 'timestamptz', default: () => 'now()' },
    expiresAt: { name: 'expires_at', type: 'timestamptz', nullable: true },
    revokedAt: { name: 'revoked_at', type: 'timestamptz', nullable: true },
  },
};
