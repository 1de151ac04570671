import { Body, Controller, Post } from '@nestjs/common';
import { ApiError } from '../../errors/api-error.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { MAX_PROMPT_CHARS, TextField } from '../validation/fields.js';
import { type ReadBody } from '../validation/read-body.js';
import { OriginDto } from './scrape-options.dto.js';
import { UrlField } from './scrape.dto.js';

class ParamsPreviewDto extends OriginDto {
  @UrlField() url!: string;
  @TextField({ required: true, minLength: 1, maxLength: MAX_PROMPT_CHARS }) prompt!: string;
}

/** Crawl options out of a sentence: needs a language model, and none can be configured yet. */
@Controller('v2/crawl/params-preview')
export class ParamsPreviewController {
  @Post()
  preview(@Body(new BodyPipe(ParamsPreviewDto)) _read: ReadBody<ParamsPreviewDto>): never {
    throw new ApiError(400, 'A prompt needs a language model, and none is configured', { code: 'BAD_REQUEST' });
  }
}
