import { randomBytes } from 'node:crypto';
import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Inject,
  Param,
  Patch,
  Post,
  Put,
  Req,
  UseInterceptors,
} from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { shownProxy, type ProxyLists, type Uuid } from '@troupe/contracts';
import {
  FORMER_SECRET_HOURS,
  TeamAdminRepository,
  type AuditAuthor,
  type KeyRecord,
  type TeamRecord,
  type TeamSettings,
} from '@troupe/persistence';
import { CONFIG } from '@troupe/service';
import type { Request } from 'express';
import { Accounts } from '../../auth/accounts.js';
import { ApiError } from '../../errors/api-error.js';
import { ReadsLists } from '../../http/heavy-reads.js';
import { listAnswer, placeOf, rangeOf, type KeyPart, type ListPlace } from '../list-query.js';
import { BodyPipe, IdPipe } from '../validation/body.pipe.js';
import { readBody, type ReadBody } from '../validation/read-body.js';
import { AdminOnly, AsAuthor } from './admin.guard.js';
import { KeyDto, ModelDto, ProxiesDto, TeamDto, TeamPatchDto, WebhookSecretDto } from './teams.dto.js';

const TEAM_ID = new IdPipe('team');
const KEY_ID = new IdPipe('key');

@AdminOnly()
@Controller('admin/teams')
export class AdminTeamsController {
  constructor(
    private readonly teams: TeamAdminRepository,
    private readonly accounts: Accounts,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  @Post()
  @HttpCode(200)
  async create(@AsAuthor() by: AuditAuthor, @Body(BodyPipe(TeamDto)) { body }: ReadBody<TeamDto>) {
    const { name, concurrency = null, creditsLimit = null, flags = {} } = body;
    const team = await this.teams.createTeam({ name, concurrency, creditsLimit, flags }, by);
    if (team === null) throw nameTaken(name);
    return { success: true, team: teamBody(team) };
  }

  @Get()
  @UseInterceptors(ReadsLists)
  async list(@Req() request: Request) {
    const place = this.placeOf(request, ['text']);
    return listAnswer('teams', await this.teams.listTeams(rangeOf(place.query)), teamBody, place);
  }

  @Get(':id')
  async find(@Param('id', TEAM_ID) id: Uuid) {
    return { success: true, team: teamBody(await this.teamOf(id)) };
  }

  /** Changes the settings that are sent; `flags` are replaced as a whole. */
  @Patch(':id')
  async update(@AsAuthor() by: AuditAuthor, @Param('id', TEAM_ID) id: Uuid, @Body() raw: unknown) {
    const changes = changesOf(raw);
    const team = await this.teams.updateTeam(id, changes, by);
    if (team === null) throw teamNotFound();
    if (team === 'taken') throw nameTaken(changes.name ?? '');
    this.accounts.forget();
    return { success: true, team: teamBody(team) };
  }

  @Post(':id/keys')
  @HttpCode(200)
  async createKey(
    @AsAuthor() by: AuditAuthor,
    @Param('id', TEAM_ID) id: Uuid,
    @Body(BodyPipe(KeyDto)) { body }: ReadBody<KeyDto>,
  ) {
    const key = `fc-${randomBytes(16).toString('hex')}`;
    const expiresAt = body.expiresAt === undefined ? null : new Date(body.expiresAt);
    const made = await this.teams.createKey(id, { name: body.name, key, expiresAt }, by);
    if (made === null) throw teamNotFound();
    return { success: true, key, ...keyBody(made) };
  }

  @Get(':id/keys')
  @UseInterceptors(ReadsLists)
  async listKeys(@Param('id', TEAM_ID) id: Uuid, @Req() request: Request) {
    const place = this.placeOf(request, ['int', 'uuid']);
    await this.teamOf(id);
    return listAnswer('keys', await this.teams.listKeys(id, rangeOf(place.query)), keyBody, place);
  }

  @Delete(':id/keys/:keyId')
  async revokeKey(@AsAuthor() by: AuditAuthor, @Param('id', TEAM_ID) id: Uuid, @Param('keyId', KEY_ID) keyId: Uuid) {
    const key = await this.teams.revokeKey(id, keyId, by);
    if (key === null) throw new ApiError(404, 'Key not found');
    this.accounts.forget();
    return { success: true, ...keyBody(key) };
  }

  /** Answers the secret once. The one before it stays good for 24 h. */
  @Put(':id/webhook-secret')
  async setWebhookSecret(
    @AsAuthor() by: AuditAuthor,
    @Param('id', TEAM_ID) id: Uuid,
    @Body(BodyPipe(WebhookSecretDto)) { body }: ReadBody<WebhookSecretDto>,
  ) {
    const { hasWebhookSecret } = await this.teamOf(id);
    const secret = body.secret ?? randomBytes(32).toString('hex');
    if (!(await this.teams.setWebhookSecret(id, secret, by))) throw teamNotFound();
    const oldValidUntil = hasWebhookSecret
      ? new Date(Date.now() + FORMER_SECRET_HOURS * 3_600_000).toISOString()
      : null;
    return { success: true, secret, oldValidUntil };
  }

  /** Replaces both lists. Answers never show the passwords in them. */
  @Put(':id/proxies')
  async setProxies(
    @AsAuthor() by: AuditAuthor,
    @Param('id', TEAM_ID) id: Uuid,
    @Body(BodyPipe(ProxiesDto)) { body }: ReadBody<ProxiesDto>,
  ) {
    const { basic = [], stealth = [] } = body;
    const team = await this.teams.setProxies(id, { basic, stealth }, by);
    if (team === null) throw teamNotFound();
    return { success: true, proxies: proxiesBody(team.proxies) };
  }

  /** Replaces the language model that the team had. Answers never show its key. */
  @Put(':id/model')
  async setModel(
    @AsAuthor() by: AuditAuthor,
    @Param('id', TEAM_ID) id: Uuid,
    @Body(BodyPipe(ModelDto)) { body }: ReadBody<ModelDto>,
  ) {
    const { provider, model, baseUrl = null, apiKey = null } = body;
    if (provider === 'azure' && baseUrl === null) throw new ApiError(400, 'baseUrl must be set for the provider azure');
    const team = await this.teams.setModel(id, { provider, model, baseUrl, apiKey }, by);
    if (team === null) throw teamNotFound();
    this.accounts.forget();
    return { success: true, model: team.model };
  }

  /** The team uses the installation's model again. */
  @Delete(':id/model')
  async removeModel(@AsAuthor() by: AuditAuthor, @Param('id', TEAM_ID) id: Uuid) {
    const team = await this.teams.setModel(id, null, by);
    if (team === null) throw teamNotFound();
    this.accounts.forget();
    return { success: true, model: null };
  }

  private placeOf(request: Request, key: readonly KeyPart[]): ListPlace {
    return placeOf(request, this.config, { keys: [key] });
  }

  private async teamOf(id: Uuid): Promise<TeamRecord> {
    const team = await this.teams.findTeam(id);
    if (team === null) throw teamNotFound();
    return team;
  }
}

/** In other bodies `null` counts as absent. Here it removes a setting. */
function changesOf(raw: unknown): Partial<TeamSettings> {
  const { body } = readBody(TeamPatchDto, raw);
  const sent = raw as Partial<Record<keyof TeamSettings, unknown>>;
  const resets = (['concurrency', 'creditsLimit'] as const).filter((field) => sent[field] === null);
  const set = Object.entries(body).filter(([, value]) => value !== undefined);
  return Object.fromEntries([...set, ...resets.map((field) => [field, null])]) as Partial<TeamSettings>;
}

function teamBody({ proxies, model, createdAt, ...team }: TeamRecord) {
  const { id, name, concurrency, creditsLimit, flags, hasWebhookSecret } = team;
  const settings = { id, name, concurrency, creditsLimit, flags, hasWebhookSecret };
  return { ...settings, proxies: proxiesBody(proxies), model, createdAt: createdAt.toISOString() };
}

function proxiesBody(lists: ProxyLists | null): ProxyLists {
  return { basic: (lists?.basic ?? []).map(shownProxy), stealth: (lists?.stealth ?? []).map(shownProxy) };
}

function keyBody({ id, name, prefix, createdAt, expiresAt, revokedAt, lastUsedAt }: KeyRecord) {
  return {
    id,
    name,
    prefix,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? null,
    revokedAt: revokedAt?.toISOString() ?? null,
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
  };
}

function teamNotFound(): ApiError {
  return new ApiError(404, 'Team not found');
}

function nameTaken(name: string): ApiError {
  return new ApiError(409, `There is a team named "${name}" already`);
}
