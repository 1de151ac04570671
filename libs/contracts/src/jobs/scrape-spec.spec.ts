import { describe, expect, it } from '@jest/globals';
import { actionsLost, isRepeatable, type Action } from './scrape-spec.js';

describe('a scrape', () => {
  const looking: Action[] = [
    { type: 'wait', selector: null, ms: 10 },
    { type: 'scroll', direction: 'down', selector: null },
    { type: 'scrape', selector: null },
  ];

  it('may be done twice while it only looks', () => {
    expect(isRepeatable({ actions: [] })).toBe(true);
    expect(isRepeatable({ actions: looking })).toBe(true);
  });

  it.each<Action>([
    { type: 'click', selector: 'button', all: false },
    { type: 'write', text: 'x', selector: null },
    { type: 'press', key: 'Enter' },
    { type: 'executeJavascript', script: 'order()' },
  ])('may not once it touches the page: $type', (action) => {
    expect(isRepeatable({ actions: [...looking, action] })).toBe(false);
  });

  it('that is lost with its actions may be asked for again by its caller, who is told why', () => {
    expect(actionsLost()).toMatchObject({ code: 'SCRAPE_ACTION_ERROR', retryable: true, httpStatus: 500 });
  });
});
