import { Body, Controller, Get, HttpCode, Param, Post, Res } from '@nestjs/common';
import { type Uuid } from '@troupe/contracts';
import type { Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { BodyPipe, JobIdPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { ScrapeCall } from './scrape.call.js';
import { ScrapeDto } from './scrape.dto.js';

@Controller('v2/scrape')
export class ScrapeController {
  constructor(private readonly call: ScrapeCall) {}

  @Post()
  @HttpCode(200)
  scrape(
    @AsCaller() caller: Caller,
    @Body(BodyPipe(ScrapeDto)) read: ReadBody<ScrapeDto>,
    @Res() response: Response,
  ): Promise<void> {
    return this.call.send(caller, read, response);
  }

  @Get(':id')
  find(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Res() response: Response): Promise<void> {
    return this.call.sendStored(caller, id, response);
  }
}
