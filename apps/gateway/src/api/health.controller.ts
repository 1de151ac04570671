import { Controller, Get, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Public } from '../auth/api-key.guard.js';
import { Readiness } from '../health/readiness.js';

@Public()
@Controller()
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  @Get()
  index(@Res() response: Response): void {
    response.type('text/plain').send('Troupe is running. The API lives under /v2.\n');
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
