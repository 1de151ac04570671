import { Body, Controller, HttpCode, Post, Res, UseGuards } from '@nestjs/common';
import type { Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { clientGone } from '../../http/client-gone.js';
import { sendPieces } from '../../http/send-list.js';
import { SearchOfferedGuard } from '../v2/search-offered.guard.js';
import { SearchCall } from '../v2/search.call.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { SearchV1Dto } from './search.dto.js';
import { searchAnswerToV1, searchFromV1 } from './search.mapper.js';

@Controller('v1/search')
@UseGuards(SearchOfferedGuard)
export class SearchV1Controller {
  constructor(private readonly call: SearchCall) {}

  @Post()
  @HttpCode(200)
  async search(
    @AsCaller() caller: Caller,
    @Body(BodyPipe(SearchV1Dto)) read: ReadBody<SearchV1Dto>,
    @Res() response: Response,
  ): Promise<void> {
    const answer = await this.call.answer(caller, searchFromV1(read), clientGone(response));
    await sendPieces(response, searchAnswerToV1(answer));
  }
}
