import { Body, Controller, HttpCode, Post, Res, UseGuards } from '@nestjs/common';
import type { Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { clientGone } from '../../http/client-gone.js';
import { sendPieces } from '../../http/send-list.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { SearchCall } from './search.call.js';
import { SearchDto } from './search.dto.js';
import { searchAnswerToV2 } from './search.mapper.js';
import { SearchOfferedGuard } from './search-offered.guard.js';

@Controller('v2/search')
@UseGuards(SearchOfferedGuard)
export class SearchController {
  constructor(private readonly call: SearchCall) {}

  @Post()
  @HttpCode(200)
  async search(
    @AsCaller() caller: Caller,
    @Body(BodyPipe(SearchDto)) read: ReadBody<SearchDto>,
    @Res() response: Response,
  ): Promise<void> {
    const answer = await this.call.answer(caller, read, clientGone(response));
    await sendPieces(response, searchAnswerToV2(answer));
  }
}
