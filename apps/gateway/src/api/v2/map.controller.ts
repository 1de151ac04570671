import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { clientGone } from '../../http/client-gone.js';
import { sendList } from '../../http/send-list.js';
import { MapService } from '../../jobs/map.service.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { MapDto } from './map.dto.js';
import { mapSpecFromV2, mapWarning } from './map.mapper.js';

@Controller('v2/map')
export class MapController {
  constructor(private readonly maps: MapService) {}

  @Post()
  @HttpCode(200)
  async map(
    @AsCaller() caller: Caller,
    @Body(new BodyPipe(MapDto)) read: ReadBody<MapDto>,
    @Res() response: Response,
  ): Promise<void> {
    const { links, ...head } = await this.answer(caller, read, clientGone(response));
    await sendList(response, head, { name: 'links', items: links });
  }

  /** The answer before it is written, for either version. */
  async answer(caller: Caller, { body, warnings }: ReadBody<MapDto>, signal: AbortSignal) {
    const spec = mapSpecFromV2(body);
    const { id, links, warning } = await this.maps.map(caller, spec, signal);
    const text = [warning, mapWarning(spec, links), ...warnings].filter(Boolean).join(' ');
    return { success: true, id, ...(text === '' ? {} : { warning: text }), links };
  }
}
