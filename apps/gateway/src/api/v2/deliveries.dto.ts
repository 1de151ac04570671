import { EnumField, ListField, uuidIssues } from '../validation/fields.js';

const MAX_IDS = 10_000;

/** Body of `POST …/deliveries/replay`. */
export class ReplayDto {
  @ListField(uuidIssues, { maxItems: MAX_IDS }) webhookIds?: string[];
  @EnumField(['dead']) state?: 'dead';
}
