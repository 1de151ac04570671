import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import { type Uuid } from '@troupe/contracts';
import type { Request } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { ExtractController } from '../v2/extract.controller.js';
import { ExtractDto } from '../v2/extract.dto.js';
import { BodyPipe, JobIdPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';

/** As in v2, but one bad address refuses the whole request unless the caller says otherwise. */
@Controller('v1/extract')
export class ExtractV1Controller {
  constructor(private readonly extracts: ExtractController) {}

  @Post()
  @HttpCode(200)
  startExtract(
    @AsCaller() caller: Caller,
    @Body(new BodyPipe(ExtractDto)) { body, warnings }: ReadBody<ExtractDto>,
    @Req() request: Request,
  ) {
    const ignoreInvalidURLs = body.ignoreInvalidURLs ?? false;
    return this.extracts.startExtract(caller, { body: { ...body, ignoreInvalidURLs }, warnings }, request);
  }

  @Get(':id')
  sendStatus(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid) {
    return this.extracts.sendStatus(caller, id);
  }

  @Delete(':id')
  cancelExtract(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid) {
    return this.extracts.cancelExtract(caller, id);
  }
}
