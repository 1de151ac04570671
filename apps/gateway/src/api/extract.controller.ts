import { Body, Controller, Delete, Get, Param, Post } from '@nestjs/common';
import { TroupeError, type Uuid } from '@troupe/contracts';
import { ApiError } from '../errors/api-error.js';
import { ExtractDto } from './v2/extract.dto.js';
import { BodyPipe, JobIdPipe } from './validation/body.pipe.js';
import { type ReadBody } from './validation/read-body.js';

/** The same in both versions. Extraction needs a language model, and none can be configured yet. */
@Controller(['v2/extract', 'v1/extract'])
export class ExtractController {
  @Post()
  startExtract(@Body(new BodyPipe(ExtractDto)) _read: ReadBody<ExtractDto>): never {
    throw new TroupeError('NOT_SUPPORTED', 'Extraction needs a language model, and none is configured');
  }

  @Get(':id')
  sendStatus(@Param('id', JobIdPipe) _id: Uuid): never {
    throw extractNotFound();
  }

  @Delete(':id')
  cancelExtract(@Param('id', JobIdPipe) _id: Uuid): never {
    throw extractNotFound();
  }
}

function extractNotFound(): ApiError {
  return new ApiError(404, 'Extract job not found');
}
