import { Injectable } from '@nestjs/common';
import { type Caller } from '../../auth/caller.js';
import { MapService } from '../../jobs/map.service.js';
import { type ReadBody } from '../validation/read-body.js';
import { type MapDto } from './map.dto.js';
import { mapSpecFromV2, mapWarning } from './map.mapper.js';

@Injectable()
export class MapCall {
  constructor(private readonly maps: MapService) {}

  /** The answer before it is written, for either version. */
  async answer(caller: Caller, { body, warnings }: ReadBody<MapDto>, signal: AbortSignal) {
    const spec = mapSpecFromV2(body);
    const { id, links, warning } = await this.maps.map(caller, spec, signal);
    const text = [warning, mapWarning(spec, links), ...warnings].filter(Boolean).join(' ');
    return { success: true, id, ...(text === '' ? {} : { warning: text }), links };
  }
}
