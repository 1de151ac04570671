/** Single scrapes: a gateway that asks a team and a host for a place, uses it for a moment, and bills what it was for. */
import { actorKey, gatewayGrantSubject, type ActorKey, type Grant, type Uuid } from '@troupe/contracts';
import { applyGrant, createClaim, demandFor, returnToken, setWant, takeToken, type Claim } from '@troupe/politeness';
import type { Stage } from './stage.js';

interface Scrape {
  id: Uuid;
  at: number;
  until: number | null;
  team: Uuid;
  isBilled: boolean;
}

const GATEWAY = 'g1';
const SAY_AGAIN_MS = 2_000;

export class Scrapers {
  private readonly claims = new Map<ActorKey, Claim>();
  private readonly scrapes: Scrape[] = [];
  private sayAt = 0;
  private token: { i: number; gen: number } | null = null;

  constructor(private readonly stage: Stage) {
    stage.bus.onNotify = (subject, msg) => {
      if (subject === gatewayGrantSubject(GATEWAY)) this.hear(msg as Grant);
    };
  }

  /** Some come in the first minute, for one team. */
  open(): void {
    const { random, teams } = this.stage;
    const team = random.pick([...teams.keys()]);
    for (let i = random.int(1, 4); i > 0; i--) {
      const id = `00000000-0000-4000-8000-0000000002${10 + i}`;
      this.scrapes.push({ id, at: random.int(0, 60_000), until: null, team, isBilled: false });
    }
    this.scrapes.sort((a, b) => a.at - b.at);
    this.claims.set(actorKey('team', team), createClaim());
  }

  get areBusy(): boolean {
    return this.current !== undefined;
  }

  private get current(): Scrape | undefined {
    return this.scrapes.find(({ at, isBilled }) => !isBilled && at <= this.stage.elapsed);
  }

  tend(): void {
    if (this.claims.size === 0) return;
    const scrape = this.current;
    const news = [...this.claims.values()].map((claim) => setWant(claim, scrape === undefined ? 0 : 1)).includes(true);
    if (scrape !== undefined) this.go(scrape);
    if (news || this.stage.elapsed >= this.sayAt) this.say();
  }

  private go(scrape: Scrape): void {
    const now = this.stage.elapsed;
    const [claim] = this.claims.values();
    if (scrape.until === null) {
      this.token = takeToken(claim!, now);
      if (this.token !== null) scrape.until = now + this.stage.random.int(10, 500);
      return;
    }
    if (now < scrape.until) return;
    returnToken(claim!, this.token!, now - scrape.until, now);
    scrape.isBilled = true;
    const { id, team } = scrape;
    const usage = { id, team, keyId: null, credits: 1, url: 'http://site.test/', statusCode: 200, ms: 10 } as const;
    this.stage.send(actorKey('team', team), { type: 'ScrapeUsage', ...usage, atMs: this.stage.time.wall() });
    this.say();
  }

  private say(): void {
    // Places of a gateway that falls silent are free after a while; a living one goes on to speak.
    this.sayAt = this.stage.elapsed + SAY_AGAIN_MS * (this.areBusy ? 1 : 15);
    for (const [pool, claim] of this.claims) {
      const claimant = `gw/${GATEWAY}`;
      const [scrape] = this.scrapes;
      const who = { claimant, replyTo: claimant, team: scrape!.team, robotsAgent: null, origin: null };
      this.stage.send(pool, { type: 'Demand', ...who, ...demandFor(claim, this.stage.elapsed) });
    }
  }

  private hear(grant: Grant): void {
    const claim = this.claims.get(grant.pool);
    if (claim !== undefined && applyGrant(claim, grant, this.stage.elapsed)) this.say();
  }

  /** Places in use. */
  placesOf(team: Uuid): number {
    return this.scrapes.filter((scrape) => scrape.team === team && scrape.until !== null && !scrape.isBilled).length;
  }

  /** I7: what was scraped is billed once, where its bill was not lost. */
  check(): void {
    const { scrapes } = this.stage.store;
    const billed = [...scrapes.values()].reduce((sum, credits) => sum + credits, 0);
    if (billed > this.scrapes.filter(({ isBilled }) => isBilled).length)
      this.stage.fail('I7', `${billed} credits of scrapes, which were fewer`);
  }
}
