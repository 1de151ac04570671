import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Req } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { TroupeError, type Uuid } from '@troupe/contracts';
import { CONFIG } from '@troupe/service';
import type { Request } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { publicBase } from '../../http/public-address.js';
import { JobSubmitService } from '../../jobs/job-submit.service.js';
import { ModelJobs } from '../../jobs/model-jobs.service.js';
import { TargetPolicy } from '../../jobs/target-policy.js';
import { BodyPipe, JobIdPipe } from '../validation/body.pipe.js';
import { warningOf, type ReadBody } from '../validation/read-body.js';
import { AgentDto } from './agent.dto.js';
import { agentRunToV2, agentSpecFromV2, agentToV2, readBefore } from './agent.mapper.js';
import { mayUseModel, refuseZeroDataRetention } from './refusals.js';
import { submissionOf } from './submission.js';

const RUNS_PER_PAGE = 20;

@Controller('v2/agent')
export class AgentController {
  constructor(
    private readonly submit: JobSubmitService,
    private readonly jobs: ModelJobs,
    private readonly targets: TargetPolicy,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  @Post()
  @HttpCode(200)
  async startAgent(
    @AsCaller() caller: Caller,
    @Body(BodyPipe(AgentDto)) { body, warnings }: ReadBody<AgentDto>,
    @Req() request: Request,
  ) {
    if (!mayUseModel(caller, this.config))
      throw new TroupeError('NOT_SUPPORTED', 'Agents need a language model, and none is configured');
    const spec = agentSpecFromV2(body, { ...this.config, checkTarget: (url) => this.targets.check(url) });
    refuseZeroDataRetention(body.zeroDataRetention, caller);
    const id = await this.submit.startAgent(spec, this.config.agentMaxCredits, submissionOf(request, caller, body));
    return { success: true, id, ...warningOf(warnings) };
  }

  @Get()
  async listRuns(@AsCaller() caller: Caller, @Req() request: Request) {
    const { runs, hasMore } = await this.jobs.agentRuns(caller, readBefore(request.query), RUNS_PER_PAGE);
    const last = runs.at(-1);
    const next = `${publicBase(request, this.config)}/v2/agent?before=${last?.createdAt.getTime()}`;
    return { success: true, agents: runs.map(agentRunToV2), ...(hasMore ? { next } : {}) };
  }

  @Get(':id')
  async sendStatus(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid) {
    return agentToV2(await this.jobs.find(caller, id, 'agent'));
  }

  @Delete(':id')
  async cancelAgent(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid) {
    await this.jobs.cancel(caller, id, 'agent');
    return { success: true };
  }
}
