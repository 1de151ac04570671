import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { parseRobots, RobotsFile, robotsForStatus } from './robots.js';

/** Whether the bot may fetch the path under a group for all agents with these rules. */
function isAllowed(rules: string[], path: string): boolean {
  return parseRobots(['User-agent: *', ...rules].join('\n')).isAllowed(`https://example.com${path}`, 'troupe');
}

describe('groups of robots.txt', () => {
  const example = parseRobots(
    `User-Agent: *
     Disallow: *.gif$
     Disallow: /example/
     Allow: /publications/

     User-Agent: foobot
     Disallow:/
     Allow:/example/page.html
     Allow:/example/allowed.gif

     User-Agent: barbot
     User-Agent: bazbot
     Disallow: /example/page.html

     User-Agent: quxbot
     # nothing is said to it`,
  );
  const isAllowedTo = (agent: string) => (path: string) => example.isAllowed(`https://www.example.com${path}`, agent);

  it('follow RFC 9309, section 5.1', () => {
    expect(['/', '/a.gif', '/a.gif?x', '/example/', '/publications/', '/examples'].map(isAllowedTo('any'))).toEqual([
      true,
      false,
      true,
      false,
      true,
      true,
    ]);
    expect(['/', '/x', '/example/page.html', '/example/allowed.gif'].map(isAllowedTo('foobot'))).toEqual([
      false,
      false,
      true,
      true,
    ]);
    for (const agent of ['barbot', 'bazbot'])
      expect(['/example/page.html', '/a.gif'].map(isAllowedTo(agent))).toEqual([false, true]);
    expect(['/example/', '/a.gif'].map(isAllowedTo('quxbot'))).toEqual([true, true]);
  });

  it('take the longest match, as in section 5.2', () => {
    const rules = ['Allow: /example/page/', 'Disallow: /example/page/disallowed.gif'];
    expect(isAllowed(rules, '/example/page/disallowed.gif')).toBe(false);
    expect(isAllowed(rules, '/example/page/other.gif')).toBe(true);
    expect(isAllowed([...rules].reverse(), '/example/page/disallowed.gif')).toBe(false);
  });

  it('are chosen by product token, in any letter case and whatever stands behind it', () => {
    const robots = parseRobots('User-agent: TROUPE/2.0 (spider)\nDisallow: /a\n\nUser-agent: *\nDisallow: /b');
    for (const agent of ['troupe', 'Troupe/1.0', 'TROUPE/1.0 (+https://example.com/bot)', 'troupe; x']) {
      expect([robots.isAllowed('https://h/a', agent), robots.isAllowed('https://h/b', agent)]).toEqual([false, true]);
    }
    for (const agent of ['troupebot', 'trou', 'other']) {
      expect([robots.isAllowed('https://h/a', agent), robots.isAllowed('https://h/b', agent)]).toEqual([true, false]);
    }
  });

  it('of one agent are merged, wherever they stand', () => {
    const robots = parseRobots(
      'User-agent: troupe\nDisallow: /a\n\nUser-agent: x\nDisallow: /x\n\nUser-agent: troupe\nDisallow: /b\nCrawl-delay: 2',
    );
    expect(['/a', '/b', '/x'].map((path) => robots.isAllowed(`https://h${path}`, 'troupe'))).toEqual([
      false,
      false,
      true,
    ]);
    expect(robots.crawlDelayMs('troupe')).toBe(2000);
  });

  it('are not split by lines that belong to none', () => {
    const robots = parseRobots(
      'User-agent: a\nSitemap: https://h/s.xml\nHost: h\nUnknown: x\n\nUser-agent: b\nDisallow: /x',
    );
    for (const agent of ['a', 'b']) expect(robots.isAllowed('https://h/x', agent)).toBe(false);
    expect(robots.sitemaps).toEqual(['https://h/s.xml']);
  });

  it('are not joined by lines that belong to none', () => {
    const robots = parseRobots(
      'User-agent: a\nDisallow: /x\nSitemap: https://h/s.xml\nHost: h\nUnknown: x\n\nUser-agent: b\nDisallow: /y',
    );
    const refused = (agent: string) => ['/x', '/y'].filter((path) => !robots.isAllowed(`https://h${path}`, agent));
    expect([refused('a'), refused('b')]).toEqual([['/x'], ['/y']]);
  });

  it('begin with an agent: rules before the first one count for none', () => {
    expect(parseRobots('Disallow: /\nUser-agent: x\nDisallow: /a').isAllowed('https://h/', 'troupe')).toBe(true);
  });

  it('need no group for all agents', () => {
    expect(parseRobots('User-agent: x\nDisallow: /').isAllowed('https://h/', 'troupe')).toBe(true);
  });
});

describe('rules of robots.txt', () => {
  it('of equal length allow', () => {
    expect(isAllowed(['Disallow: /page', 'Allow: /page'], '/page')).toBe(true);
    expect(isAllowed(['Allow: /page', 'Disallow: /page'], '/page')).toBe(true);
    expect(isAllowed(['Allow: /', 'Disallow: /page'], '/page')).toBe(false);
  });

  it.each([
    [
      '/fish',
      ['/fish', '/fish.html', '/fish/salmon', '/fishheads', '/fish.php?id=a'],
      ['/Fish', '/catfish', '/?id=fish', '/'],
    ],
    ['/fish*', ['/fish', '/fish/salmon'], ['/Fish', '/catfish']],
    ['/fish/', ['/fish/', '/fish/?id=a', '/fish/salmon.htm'], ['/fish', '/fish.html']],
    ['/*.php', ['/index.php', '/folder/any.php.file.html', '/a.php?x', '/a.php/'], ['/', '/windows.PHP']],
    ['/*.php$', ['/a.php', '/folder/a.php', '/a.php.php'], ['/a.php?x', '/a.php/', '/a.php5']],
    ['/fish*.php', ['/fish.php', '/fishheads/catfish.php?x'], ['/Fish.PHP', '/fish']],
    ['/$', ['/'], ['/a', '/?x']],
    ['*/private/', ['/private/', '/a/private/b'], ['/private']],
    ['private', ['/private', '/private/a'], ['/a/private']],
    ['/a*b*c', ['/abc', '/axbxc', '/abbcc', '/a/b/c/d'], ['/ab', '/acb']],
    ['/a**b', ['/ab', '/axb'], ['/b']],
    ['/a*$', ['/a', '/abc'], ['/b']],
    ['/a*a$', ['/aa', '/aba', '/aaa'], ['/a', '/ab', '/aab']],
    ['/a*bc*c$', ['/abcc', '/axbcxc'], ['/abc', '/abccx', '/acbc']],
    ['/*?', ['/a?x', '/?'], ['/a']],
    ['/a$b', ['/a$b', '/a$bc'], ['/a', '/ab']],
  ])('%s matches what it should', (pattern, matching, others) => {
    expect(matching.filter((path) => isAllowed([`Disallow: ${pattern}`], path))).toEqual([]);
    expect(others.filter((path) => !isAllowed([`Disallow: ${pattern}`], path))).toEqual([]);
  });

  it('compare octets, not spellings', () => {
    expect(isAllowed(['Disallow: /~joe'], '/%7ejoe/a')).toBe(false);
    expect(isAllowed(['Disallow: /%7Ejoe'], '/~joe/a')).toBe(false);
    expect(isAllowed(['Disallow: /é'], '/%c3%a9')).toBe(false);
    expect(isAllowed(['Disallow: /%C3%A9'], '/é')).toBe(false);
    expect(isAllowed(['Disallow: /foo/bar/ツ'], '/foo/bar/%E3%83%84')).toBe(false);
    expect(isAllowed(['Disallow: /a%2fb'], '/a/b')).toBe(true);
    expect(isAllowed(['Disallow: /a%2fb'], '/a%2Fb')).toBe(false);
    expect(isAllowed(['Disallow: /a%2ab'], '/axb')).toBe(true);
  });

  it('without a value say nothing', () => {
    expect(isAllowed(['Disallow:'], '/a')).toBe(true);
    expect(isAllowed(['Disallow: /', 'Allow:'], '/a')).toBe(false);
  });

  it('never forbid robots.txt itself', () => {
    expect(isAllowed(['Disallow: /'], '/robots.txt')).toBe(true);
    expect(isAllowed(['Disallow: /'], '/robots.txt.html')).toBe(false);
  });

  it('see path and query, not fragment, host or scheme', () => {
    expect(isAllowed(['Disallow: /*b'], '/a#b')).toBe(true);
    expect(parseRobots('User-agent: *\nDisallow: /example').isAllowed('https://example.com:8080', 'x')).toBe(true);
    expect(parseRobots('User-agent: *\nDisallow: /?q').isAllowed('https://example.com?q=1', 'x')).toBe(false);
  });

  it('with many wildcards are matched in linear time', () => {
    const startedAt = performance.now();
    expect(isAllowed([`Disallow: /${'a*'.repeat(2_000)}$x`], `/${'a'.repeat(20_000)}`)).toBe(true);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it('with one wildcard mean what the regular expression means', () => {
    const texts = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 6 });
    fc.assert(
      fc.property(fc.array(texts, { minLength: 1, maxLength: 4 }), fc.boolean(), texts, (parts, isAnchored, path) => {
        const pattern = new RegExp(`^/${parts.join('.*')}${isAnchored ? '$' : ''}`);
        expect(isAllowed([`Disallow: /${parts.join('*')}${isAnchored ? '$' : ''}`], `/${path}`)).toBe(
          !pattern.test(`/${path}`),
        );
      }),
      { numRuns: 500 },
    );
  });
});

describe('the text of robots.txt', () => {
  it.each(['\n', '\r\n', '\r'])('may end its lines with %j', (end) => {
    const robots = parseRobots(['User-agent: *', 'Disallow: /a', '', 'Disallow: /b'].join(end));
    expect(['/a', '/b', '/c'].map((path) => robots.isAllowed(`https://h${path}`, 'x'))).toEqual([false, false, true]);
  });

  it('may begin with a byte order mark, hold comments, odd white space and any letter case', () => {
    const robots = parseRobots('\uFEFFUSER-AGENT : * # everybody\n\t disallow\t:\t/a # no\n#Disallow: /b\nALLOW: /a/b');
    expect(['/a', '/a/b', '/b'].map((path) => robots.isAllowed(`https://h${path}`, 'x'))).toEqual([false, true, true]);
  });

  it('is read up to 500 KiB', () => {
    const filler = `# ${'x'.repeat(1020)}\n`;
    const rule = 'Disallow: /late\n';
    const text = (fillers: number) => `User-agent: *\nDisallow: /early\n${filler.repeat(fillers)}${rule}`;
    expect(parseRobots(text(499)).isAllowed('https://h/late', 'x')).toBe(false);
    expect(parseRobots(text(510)).isAllowed('https://h/late', 'x')).toBe(true);
    expect(parseRobots(text(510)).isAllowed('https://h/early', 'x')).toBe(false);
  });

  it('may be anything', () => {
    const lines = fc.constantFrom(
      'User-agent: *',
      'Disallow: /',
      'Allow',
      ':',
      '::',
      'Crawl-delay: x',
      'Sitemap:',
      '<html>',
      '\0',
      '#',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(lines, fc.string({ unit: 'binary' })), { maxLength: 20 }), (text) => {
        expect(typeof parseRobots(text.join('\n')).isAllowed('https://h/a', 'x')).toBe('boolean');
      }),
    );
  });

  it('names sitemaps once each, as written, in order, in or outside groups', () => {
    const text =
      'Sitemap: https://h/1.xml\nUser-agent: *\nSitemap:/2.xml\nsitemap: https://h/1.xml\nSitemap:\nSitemap: https://h/a b.xml # c';
    expect(parseRobots(text).sitemaps).toEqual(['https://h/1.xml', '/2.xml', 'https://h/a b.xml']);
    const many = Array.from({ length: 5_000 }, (_, i) => `Sitemap: https://h/${i}`).join('\n');
    expect(parseRobots(many).sitemaps).toHaveLength(1_000);
  });

  it.each([
    ['10', 10_000],
    ['0.5', 500],
    ['0', 0],
    ['-1', null],
    ['1e3', null],
    ['ten', null],
    ['', null],
  ])('with Crawl-delay %j means %s ms', (value, ms) => {
    expect(parseRobots(`User-agent: *\nCrawl-delay: ${value}`).crawlDelayMs('x')).toBe(ms);
  });

  it.each([[['2', '5']], [['5', '2']], [['5', '0', 'x']]])(
    'of several groups of one agent takes the longest crawl-delay: %j',
    (delays) => {
      const group = (agent: string, delay: string): string => `User-agent: ${agent}\nCrawl-delay: ${delay}\n\n`;
      const robots = parseRobots(`${group('other', '9')}${delays.map((delay) => group('troupe', delay)).join('')}`);
      expect(robots.crawlDelayMs('troupe')).toBe(5000);
    },
  );

  it('of one group takes the last crawl-delay that is a number', () => {
    const delayOf = (...values: string[]): number | null =>
      parseRobots(`User-agent: *\n${values.map((value) => `Crawl-delay: ${value}\n`).join('')}`).crawlDelayMs('x');
    expect(delayOf('5', 'soon')).toBe(5000);
    expect(delayOf('5', '2')).toBe(2000);
    expect(delayOf('5', '0')).toBe(0);
  });

  it("takes an agent's own crawl-delay, and that of all agents only for agents without a group", () => {
    const robots = parseRobots('User-agent: *\nCrawl-delay: 5\n\nUser-agent: troupe\nDisallow: /a');
    expect(robots.crawlDelayMs('troupe')).toBeNull();
    expect(robots.crawlDelayMs('other')).toBe(5000);
  });
});

describe('the answer to the request for robots.txt', () => {
  const text = 'User-agent: *\nDisallow: /a\nSitemap: https://h/s.xml';

  it.each([200, 204, 299])('with status %i is the file', (status) => {
    expect(['/a', '/b'].map((path) => robotsForStatus(status, text).isAllowed(`https://h${path}`, 'x'))).toEqual([
      false,
      true,
    ]);
  });

  it.each([300, 399, 400, 401, 403, 404, 429, 499])('with status %i forbids nothing', (status) => {
    expect(robotsForStatus(status, text)).toBe(RobotsFile.allowAll);
    expect(RobotsFile.allowAll.isAllowed('https://h/a', 'x')).toBe(true);
  });

  it.each([500, 503, 599, 0])('with status %i forbids everything', (status) => {
    expect(robotsForStatus(status, text)).toBe(RobotsFile.disallowAll);
    expect(RobotsFile.disallowAll.isAllowed('https://h/b', 'x')).toBe(false);
    expect(RobotsFile.disallowAll.sitemaps).toEqual([]);
  });
});
