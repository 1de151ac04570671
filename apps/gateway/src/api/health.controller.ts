import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { CONFIG } from '@troupe/service';
import type { Request, Response } from 'express';
import { Public } from '../auth/api-key.guard.js';
import { Readiness } from '../health/readiness.js';
import { publicBase } from '../http/public-address.js';
import { LANDING_POLICY, landingPage } from './landing-page.js';

@Public()
@Controller()
export class HealthController {
  constructor(
    private readonly readiness: Readiness,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  /** A page for browsers, a line of text for all other clients. */
  @Get()
  index(@Req() request: Request, @Res() response: Response): void {
    response.vary('accept');
    if (request.accepts(['text/plain', 'text/html']) !== 'text/html') {
      response.type('text/plain').send('Troupe is running. The API lives under /v2.\n');
      return;
    }
    response
      .set({
        'content-security-policy': LANDING_POLICY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      })
      .type('html')
      .send(
        landingPage({
          base: publicBase(request, this.config),
          needsKey: this.config.authMode !== 'none',
          hasDocs: this.config.apiDocs,
        }),
      );
  }

  @Get('v2/health/liveness')
  liveness() {
    return { status: 'ok' };
  }

  @Get('v2/health/readiness')
  async ready(@Res({ passthrough: true }) response: Response) {
    const { isReady, checks } = await this.readiness.ask();
    if (isReady) return { status: 'ok' };
    response.status(503);
    return { success: false, status: 'unavailable', error: 'Not ready', checks };
  }
}
