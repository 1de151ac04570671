/**
 * What the gateway administers, as TypeORM schema objects instead of decorated classes: plain data, so that importing them
 * loads nothing. What has `select: false` is written and never read back: secrets stay where they are. Other tables have no
 * entity: turns write them as `RowOp`s of the contracts, and every other statement is SQL.
 */
import type { ModelAccess, ProxyLists, ShownModel, TeamFlags, Uuid } from '@troupe/contracts';
import type { EntitySchemaOptions } from 'typeorm';

export interface TeamSettings {
  name: string;
  /** Pages of this team that may be in work at once; null = `TEAM_CONCURRENCY`. */
  concurrency: number | null;
  /** Credits per calendar month (UTC) with `BILLING=on`; null = unlimited. */
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

export interface Team extends TeamRecord {
  modelAccess: ModelAccess | null;
  webhookSecret: string | null;
  /** Signs beside the new one for `FORMER_SECRET_HOURS`. */
  webhookSecretPrevious: string | null;
  webhookSecretRotatedAt: Date | null;
}

export const TeamEntity: EntitySchemaOptions<Team> = {
  name: 'Team',
  tableName: 'team',
  columns: {
    id: { type: 'uuid', primary: true, generated: 'uuid' },
    name: { type: 'text' },
    concurrency: { type: 'int', nullable: true },
    creditsLimit: {
      name: 'credits_limit',
      type: 'bigint',
      nullable: true,
      transformer: {
        to: (value: unknown) => value,
        from: (value: string | null) => (value === null ? null : Number(value)),
      },
    },
    flags: { type: 'jsonb', default: {} },
    proxies: { type: 'jsonb', nullable: true },
    createdAt: { name: 'created_at', type: 'timestamptz', default: () => 'now()' },
    modelAccess: { name: 'model', type: 'jsonb', nullable: true, select: false },
    webhookSecret: { name: 'webhook_secret', type: 'text', nullable: true, select: false },
    webhookSecretPrevious: { name: 'webhook_secret_previous', type: 'text', nullable: true, select: false },
    webhookSecretRotatedAt: { name: 'webhook_secret_rotated_at', type: 'timestamptz', nullable: true, select: false },
    model: {
      name: 'shown_model',
      type: 'jsonb',
      virtualProperty: true,
      query: (team) => `${team}.model - 'apiKey' || jsonb_build_object('hasKey', ${team}.model->>'apiKey' IS NOT NULL)`,
    },
    hasWebhookSecret: {
      name: 'has_webhook_secret',
      type: 'boolean',
      virtualProperty: true,
      query: (team) => `${team}.webhook_secret IS NOT NULL`,
    },
  },
  uniques: [{ name: 'team_name_key', columns: ['name'] }],
};

export interface KeyRecord {
  id: Uuid;
  name: string;
  /** First characters of the key, to recognise it by. */
  prefix: string;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  /** Within about a minute; null = never. */
  lastUsedAt: Date | null;
}

/** A key is stored as its SHA-256 only. */
export interface ApiKey extends KeyRecord {
  hash: Buffer;
  teamId: Uuid;
}

export const ApiKeyEntity: EntitySchemaOptions<ApiKey> = {
  name: 'ApiKey',
  tableName: 'api_key',
  columns: {
    hash: { type: 'bytea', primary: true },
    id: { type: 'uuid', generated: 'uuid' },
    teamId: { name: 'team_id', type: 'uuid' },
    name: { type: 'text' },
    prefix: { type: 'text', default: '' },
    createdAt: { name: 'created_at', type: 'timestamptz', default: () => 'now()' },
    expiresAt: { name: 'expires_at', type: 'timestamptz', nullable: true },
    revokedAt: { name: 'revoked_at', type: 'timestamptz', nullable: true },
    lastUsedAt: { name: 'last_used_at', type: 'timestamptz', nullable: true },
  },
  uniques: [{ name: 'api_key_id_key', columns: ['id'] }],
  indices: [{ name: 'api_key_team', columns: ['teamId'] }],
  foreignKeys: [
    { name: 'api_key_team_id_fkey', target: 'Team', columnNames: ['teamId'], referencedColumnNames: ['id'] },
  ],
};

export interface BlockedHost {
  host: string;
  reason: string | null;
  at: Date;
}

export const BlockedHostEntity: EntitySchemaOptions<BlockedHost> = {
  name: 'BlockedHost',
  tableName: 'blocked_host',
  columns: {
    host: { type: 'text', primary: true },
    reason: { type: 'text', nullable: true },
    at: { type: 'timestamptz' },
  },
};

export const ENTITIES = [TeamEntity, ApiKeyEntity, BlockedHostEntity] as EntitySchemaOptions<unknown>[];
