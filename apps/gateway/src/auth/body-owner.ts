/** The caller of the request that a parsed body came with: pipes see the body alone. */

/** The team for which patterns and schemas of a body are compiled. */
export interface BodyOwner {
  team: string;
  /** There is a language model: the installation's, or the team's own. */
  hasModel: boolean;
}

const owners = new WeakMap<object, BodyOwner>();

export function setOwner(body: unknown, owner: BodyOwner): void {
  if (typeof body === 'object' && body !== null) owners.set(body, owner);
}

/** undefined on a public route. */
export function ownerOf(body: unknown): BodyOwner | undefined {
  return typeof body === 'object' && body !== null ? owners.get(body) : undefined;
}
