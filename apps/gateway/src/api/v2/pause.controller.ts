import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import { type Uuid } from '@troupe/contracts';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { CrawlPauseService } from '../../jobs/crawl-pause.service.js';
import { JobIdPipe } from '../validation/body.pipe.js';

@Controller('v2/crawl/:id')
export class PauseController {
  constructor(private readonly pauses: CrawlPauseService) {}

  @Post('pause')
  @HttpCode(200)
  pause(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid) {
    return this.setPaused(caller, id, true);
  }

  @Post('resume')
  @HttpCode(200)
  resume(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid) {
    return this.setPaused(caller, id, false);
  }

  /** Clients know no other word for a job that is not over. */
  private async setPaused(caller: Caller, id: Uuid, paused: boolean) {
    await this.pauses.setPaused(caller, id, paused);
    return { success: true, status: 'scraping', paused };
  }
}
