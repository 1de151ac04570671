/** The caller of the request that a parsed body came with: pipes see the body alone. */

/** On whose behalf something is compiled. */
export interface BodyOwner {
  team: string;
  /** A language model would read what is asked for: the installation's, or one of the team's own. */
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
