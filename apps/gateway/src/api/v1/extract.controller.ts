import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import { type Uuid } from '@troupe/contracts';
import type { Request } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { ExtractCall } from '../v2/extract.call.js';
import { ExtractDto } from '../v2/extract.dto.js';
import { BodyPipe, JobIdPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';

/** As in v2, but one bad address refuses the whole request unless the caller says otherwise. */
@Controller('v1/extract')
export class ExtractV1Controller {
  constructor(private readonly call: ExtractCall) {}

  @Post()
  @HttpCode(200)
  startExtract(
    @AsCaller() caller: Caller,
    @Body(BodyPipe(ExtractDto)) { body, warnings }: ReadBody<ExtractDto>,
    @Req() request: Request,
  ) {
    const ignoreInvalidURLs = body.ignoreInvalidURLs ?? false;
    return this.call.start(caller, { body: { ...body, ignoreInvalidURLs }, warnings }, request);
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
