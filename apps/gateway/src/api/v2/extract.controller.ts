import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import { type Uuid } from '@troupe/contracts';
import type { Request } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { BodyPipe, JobIdPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { ExtractCall } from './extract.call.js';
import { ExtractDto } from './extract.dto.js';

@Controller('v2/extract')
export class ExtractController {
  constructor(private readonly call: ExtractCall) {}

  @Post()
  @HttpCode(200)
  startExtract(
    @AsCaller() caller: Caller,
    @Body(BodyPipe(ExtractDto)) read: ReadBody<ExtractDto>,
    @Req() request: Request,
  ) {
    return this.call.start(caller, read, request);
  }

  @Get(':id')
  sendStatus(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid) {
    return this.call.status(caller, id);
  }

  @Delete(':id')
  cancelExtract(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid) {
    return this.call.cancel(caller, id);
  }
}
