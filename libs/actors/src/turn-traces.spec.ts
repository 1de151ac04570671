import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  NO_TRACES,
  traceIdOf,
  type TraceSpan,
  type SpanOptions,
  type TraceParent,
  type Tracer,
} from '@troupe/contracts';
import { NoteWorld } from './note-actor.fixture.js';
import { TRACED_TURNS } from './turn-traces.js';

interface Seen {
  name: string;
  parent: TraceParent;
  context: TraceParent;
  links: readonly TraceParent[];
  end: 'open' | 'good' | 'failed';
}

/** Remembers spans; their contexts count up inside their trace. */
class Recorder implements Pick<Tracer, 'span'> {
  readonly seen: Seen[] = [];

  span(name: string, parent: TraceParent | undefined, { links = [] }: SpanOptions = {}): TraceSpan {
    if (parent === undefined) throw new Error(`${name} has no parent`);
    const context = contextOf(traceIdOf(parent)!, this.seen.length + 1);
    const seen: Seen = { name, parent, context, links, end: 'open' };
    this.seen.push(seen);
    return {
      context,
      set: () => undefined,
      rename: () => undefined,
      end: (error) => (seen.end = error === undefined ? 'good' : 'failed'),
    };
  }

  turns(): Seen[] {
    return this.seen.filter(({ name }) => name.startsWith('turn '));
  }
}

const OWN = 'a'.repeat(32);
const OTHER = 'b'.repeat(32);
const contextOf = (trace: string, n: number): TraceParent => `00-${trace}-${String(n).padStart(16, '0')}-01`;
const CALL = contextOf(OWN, 999);
const ELSEWHERE = contextOf(OTHER, 998);

const JOB = 'crawl/a0';
const HOST = 'domain/a0';

describe('turns', () => {
  let world: NoteWorld;
  let recorder: Recorder;

  beforeEach(() => {
    world = new NoteWorld();
    recorder = new Recorder();
    world.tracer = { ...NO_TRACES, span: (...asked) => recorder.span(...asked) };
  });

  it('are not recorded for messages without a trace', async () => {
    const partition = await world.own(JOB);
    await world.send(JOB, { type: 'Start', bad: false });
    await world.send(HOST, { type: 'Note', text: 'a' });
    await world.run(partition);
    expect(recorder.seen).toEqual([]);
    expect(world.store.actors.get(JOB)!.state).not.toContain('trace');
  });

  it('belong to what caused them, and show the transaction', async () => {
    const partition = await world.own(JOB);
    await world.send(JOB, { type: 'Start', bad: false }, { trace: CALL });
    await world.run(partition);
    const [turn, commit] = recorder.seen;
    expect(turn).toMatchObject({ name: 'turn crawl', parent: CALL, end: 'good' });
    expect(commit).toMatchObject({ name: 'commit turn', parent: turn!.context, end: 'good' });
  });

  it('pass their trace on with messages and work', async () => {
    const partition = await world.own(JOB);
    const works: (TraceParent | undefined)[] = [];
    const publishWork = world.bus.publishWork.bind(world.bus);
    world.bus.publishWork = (cls, prio, id, msg, cause?: TraceParent) => {
      works.push(cause);
      return publishWork(cls, prio, id, msg);
    };
    await world.send(JOB, { type: 'Tell', to: HOST, text: 'hello' }, { trace: CALL });
    await world.send(JOB, { type: 'Work', id: 'w' }, { trace: CALL });
    await world.run(partition);
    const [turn] = recorder.turns();
    expect(works).toEqual([turn!.context]);
    expect(world.bus.sent.find(({ to }) => to === HOST)).toMatchObject({ trace: turn!.context });
  });

  it('of a job stay in the trace of its call, whoever speaks to it and whoever owns it', async () => {
    const first = await world.own(JOB);
    await world.send(JOB, { type: 'Start', bad: false }, { trace: CALL });
    await world.run(first);
    const second = await world.own(JOB);
    await world.send(JOB, { type: 'Note', text: 'of another call' }, { trace: ELSEWHERE });
    await world.run(second);
    await world.send(JOB, { type: 'Note', text: 'of nobody' });
    await world.run(second);
    expect(recorder.turns().map(({ parent }) => parent)).toEqual([CALL, CALL, CALL]);
  });

  it('of a job whose call is not recorded are not recorded later', async () => {
    const partition = await world.own(JOB);
    await world.send(JOB, { type: 'Start', bad: false });
    await world.run(partition);
    await world.send(JOB, { type: 'Note', text: 'of another call' }, { trace: ELSEWHERE });
    await world.run(partition);
    expect(recorder.seen).toEqual([]);
  });

  it('of a host belong to the first of the calls they serve, and name the others', async () => {
    const partition = await world.own(HOST);
    await world.send(HOST, { type: 'Note', text: 'a' }, { trace: CALL });
    await world.send(HOST, { type: 'Note', text: 'b' }, { trace: ELSEWHERE });
    await world.run(partition);
    expect(recorder.turns()).toMatchObject([{ name: 'turn domain', parent: CALL, links: [ELSEWHERE] }]);
    await world.send(HOST, { type: 'Note', text: 'c' });
    await world.run(partition);
    expect(recorder.turns()).toHaveLength(1);
  });

  it('of a long job are recorded at its beginning only', async () => {
    const partition = await world.own(JOB);
    await world.send(JOB, { type: 'Start', bad: false }, { trace: CALL });
    await world.run(partition);
    for (let n = 0; n < TRACED_TURNS + 5; n++) {
      await world.send(JOB, { type: 'Note', text: String(n) });
      await world.run(partition);
    }
    expect(recorder.turns()).toHaveLength(TRACED_TURNS);
  });

  it('that did not commit are told as failed', async () => {
    const partition = await world.own(JOB);
    world.store.commitTurn = () => Promise.reject(new Error('no database'));
    await world.send(JOB, { type: 'Start', bad: false }, { trace: CALL });
    await expect(partition.step()).rejects.toThrow('no database');
    expect(recorder.seen.map(({ end }) => end)).toEqual(['failed', 'failed']);
  });
});
