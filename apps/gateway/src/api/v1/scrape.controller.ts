import { Body, Controller, Get, HttpCode, Param, Post, Res } from '@nestjs/common';
import { type Uuid } from '@troupe/contracts';
import type { Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { ScrapeCall } from '../v2/scrape.call.js';
import { BodyPipe, JobIdPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { ScrapeV1Dto } from './scrape.dto.js';
import { scrapeFromV1 } from './scrape.mapper.js';

@Controller('v1/scrape')
export class ScrapeV1Controller {
  constructor(private readonly call: ScrapeCall) {}

  @Post()
  @HttpCode(200)
  scrape(
    @AsCaller() caller: Caller,
    @Body(BodyPipe(ScrapeV1Dto)) read: ReadBody<ScrapeV1Dto>,
    @Res() response: Response,
  ): Promise<void> {
    return this.call.send(caller, scrapeFromV1(read), response);
  }

  @Get(':id')
  find(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Res() response: Response): Promise<void> {
    return this.call.sendStored(caller, id, response);
  }
}
