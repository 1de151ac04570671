import { isUuid } from '@troupe/contracts';
import { EnumField, ListField } from '../validation/fields.js';
import { wrongType, type Issue } from '../validation/issue.js';

const MAX_IDS = 10_000;

/** Body of `POST …/deliveries/replay`. */
export class ReplayDto {
  @ListField(idIssues, { maxItems: MAX_IDS }) webhookIds?: string[];
  @EnumField(['dead']) state?: 'dead';
}

function idIssues(value: unknown): Issue[] {
  if (typeof value !== 'string') return [wrongType('string', value)];
  return isUuid(value.toLowerCase())
    ? []
    : [{ code: 'invalid_string', validation: 'uuid', path: [], message: 'Invalid uuid' }];
}
