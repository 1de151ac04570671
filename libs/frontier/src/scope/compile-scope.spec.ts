import { describe, expect, it } from '@jest/globals';
import type { ScopeRule, ScopeSpec } from '@troupe/contracts';
import { TroupeError } from '@troupe/contracts';
import { canonicalize, MAX_URL_CHARS } from '../canonicalize.js';
import { compileScope } from './compile-scope.js';
import { checkPattern } from './pattern.js';

function scopeOf(rest: Partial<ScopeSpec> = {}): ScopeSpec {
  return {
    base: 'https://example.com/',
    version: 0,
    includePaths: [],
    excludePaths: [],
    regexOnFullUrl: false,
    maxDepth: null,
    maxPathDepth: null,
    entireDomain: false,
    allowExternalLinks: false,
    allowSubdomains: false,
    ignoreQueryParameters: false,
    deduplicateSimilarUrls: true,
    sitemap: 'include',
    ...rest,
  };
}

type Example = [url: string, rule: ScopeRule | null];

/** Absolute URLs, or paths on the start host. */
function expectRules(rest: Partial<ScopeSpec>, examples: Example[], depth = 1): void {
  const scope = scopeOf(rest);
  const compiled = compileScope(scope);
  const actual = examples.map(([url]): Example => [url, compiled.check(canonicalize(url, scope.base)!, depth)]);
  expect(actual).toEqual(examples);
}

describe('the start URL', () => {
  it('belongs whatever the rules say, in every spelling that the crawl takes for the same page', () => {
    const scope = compileScope(
      scopeOf({ base: 'https://example.com/a.png', excludePaths: ['.*'], includePaths: ['/never'], maxDepth: 0 }),
    );
    expect(scope.check('https://example.com/a.png', 9)).toBeNull();
    expect(scope.check('http://www.example.com/a.png', 9)).toBeNull();
    expect(scope.check('https://example.com/b.html', 0)).toBe('exclude');
    expect(scope.isStart('http://www.example.com/a.png')).toBe(true);
    expect(scope.isStart('https://example.com/b.png')).toBe(false);
  });

  it('must be an http(s) URL', () => {
    expect(() => compileScope(scopeOf({ base: 'mailto:a@example.com' }))).toThrow(
      expect.objectContaining({ code: 'BAD_REQUEST', details: { path: ['url'] } }),
    );
  });
});

describe('hosts', () => {
  it('www and apex are one host, whatever the scheme and its port', () => {
    const same: Example[] = [
      ['https://www.example.com/a', null],
      ['http://example.com/a', null],
      ['https://example.com:443/a', null],
      ['http://example.com:80/a', null],
    ];
    expectRules({}, same);
    expectRules({ base: 'http://www.example.com/' }, same);
  });

  it('another port is another host', () => {
    expectRules({}, [['https://example.com:8443/a', 'external']]);
    expectRules({ base: 'http://127.0.0.1:8080/' }, [
      ['/a', null],
      ['http://127.0.0.1:8081/a', 'external'],
      ['http://127.0.0.1/a', 'external'],
    ]);
  });

  it('hosts under one registrable domain are subdomains, all others are external', () => {
    const hosts: Example[] = [
      ['https://docs.example.com/', 'subdomain'],
      ['https://a.b.example.com/', 'subdomain'],
      ['https://other.com/', 'external'],
      ['https://example.org/', 'external'],
      ['https://notexample.com/', 'external'],
      ['https://example.com.evil.net/', 'external'],
    ];
    expectRules({}, hosts);
    expectRules(
      { allowSubdomains: true },
      hosts.map(([url, rule]) => [url, rule === 'subdomain' ? null : rule]),
    );
    expectRules(
      { allowExternalLinks: true },
      hosts.map(([url]) => [url, null]),
    );
  });

  it('the apex and its siblings are subdomains of each other', () => {
    expectRules({ base: 'https://docs.example.com/' }, [
      ['https://example.com/', 'subdomain'],
      ['https://blog.example.com/', 'subdomain'],
      ['https://www.docs.example.com/', null],
    ]);
  });

  it('the public suffix list says where a domain ends, private suffixes included', () => {
    expectRules({ base: 'https://a.co.uk/', allowSubdomains: true }, [
      ['https://x.a.co.uk/', null],
      ['https://b.co.uk/', 'external'],
    ]);
    expectRules({ base: 'https://alice.github.io/', allowSubdomains: true }, [['https://bob.github.io/', 'external']]);
  });

  it('addresses and names without a domain have no subdomains', () => {
    expectRules({ base: 'http://10.0.0.1/', allowSubdomains: true }, [
      ['http://10.0.0.1/a', null],
      ['http://10.0.0.2/a', 'external'],
    ]);
    expectRules({ base: 'http://[::1]/', allowSubdomains: true }, [
      ['http://[::1]/a', null],
      ['http://[::2]/a', 'external'],
    ]);
    expectRules({ base: 'http://localhost/', allowSubdomains: true }, [['http://intranet/', 'external']]);
  });
});

describe('the path prefix', () => {
  it('is the path of the start URL, compared by whole segments', () => {
    expectRules({ base: 'https://example.com/docs' }, [
      ['/docs', null],
      ['/docs/', null],
      ['/docs/a/b', null],
      ['/docs?page=2', null],
      ['/docs-old', 'path-prefix'],
      ['/docs2/a', 'path-prefix'],
      ['/', 'path-prefix'],
      ['/DOCS/a', 'path-prefix'],
      ['/a/docs/b', 'path-prefix'],
    ]);
  });

  it('is the folder when the start URL names a file', () => {
    expectRules({ base: 'https://example.com/docs/3.11/index.html' }, [
      ['/docs/3.11/library/os.html', null],
      ['/docs/3.11/', null],
      ['/docs/3.12/', 'path-prefix'],
    ]);
    expectRules({ base: 'https://example.com/index.php?page=1' }, [['/anything', null]]);
  });

  it('keeps a last segment that only has a version number behind its dot', () => {
    expectRules({ base: 'https://example.com/docs/3.11' }, [
      ['/docs/3.11/a', null],
      ['/docs/3.12/a', 'path-prefix'],
    ]);
  });

  it('does not bind other hosts that belong, and is off for the entire domain', () => {
    expectRules({ base: 'https://example.com/docs/', allowSubdomains: true }, [
      ['https://api.example.com/', null],
      ['https://www.example.com/', 'path-prefix'],
    ]);
    expectRules({ base: 'https://example.com/docs/', entireDomain: true }, [['/', null]]);
  });
});

describe('patterns', () => {
  it('are searched for in the path, and exclude wins over include', () => {
    expectRules({ includePaths: ['^/blog/', '/docs/.*'], excludePaths: ['/private', 'secret$'] }, [
      ['/blog/a', null],
      ['/x/docs/b', null],
      ['/about', 'include'],
      ['/blog/private/a', 'exclude'],
      ['/blog/secret', 'exclude'],
      ['/blog/secrets', null],
      ['/about?next=/blog/', 'include'],
      ['/blog/a?x=/private', null],
    ]);
  });

  it('are searched for in the whole URL on request', () => {
    expectRules(
      { regexOnFullUrl: true, includePaths: ['^https://example\\.com/.*\\?lang=en'], excludePaths: ['page=9'] },
      [
        ['/a?lang=en', null],
        ['/a?lang=de', 'include'],
        ['/a?lang=en&page=9', 'exclude'],
      ],
    );
  });

  it.each([
    ['(?=a)', 'look-around is not supported (RE2 syntax)'],
    ['(?<!a)b', 'look-around is not supported (RE2 syntax)'],
    ['(a)\\1', 'back-references are not supported (RE2 syntax)'],
    ['(?<n>a)\\k<n>', 'back-references are not supported (RE2 syntax)'],
  ])('%s is refused by name', (pattern, reason) => {
    expect(checkPattern(pattern)).toBe(`Invalid regular expression: ${reason}`);
  });

  it.each(['(', 'a**', '[z-a]', '\\', 'a{2,1}'])('%s is refused with a reason', (pattern) => {
    expect(checkPattern(pattern)).toMatch(/^Invalid regular expression: ./);
  });

  it.each(['', '.*', '/blog/\\d{4}/', '(?i)PDF$', '^/(?:a|b)/?$', '\\p{L}+', '(?P<year>\\d+)'])(
    '%j is good',
    (pattern) => {
      expect(checkPattern(pattern)).toBeNull();
    },
  );

  it('longer than 2,000 characters are refused', () => {
    expect(checkPattern('a'.repeat(2000))).toBeNull();
    expect(checkPattern('a'.repeat(2001))).toMatch(/longer than 2000/);
  });

  it.each(['includePaths', 'excludePaths'] as const)(
    'of %s that cannot be compiled are reported with their place',
    (field) => {
      let error: unknown;
      try {
        compileScope(scopeOf({ [field]: ['good', '(?!bad)'] }));
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toBeInstanceOf(TroupeError);
      expect(error).toMatchObject({
        code: 'BAD_REQUEST',
        details: { path: [field, 1], message: expect.stringContaining('look-around') },
      });
    },
  );

  it('that are catastrophic for backtracking take linear time', () => {
    const scope = compileScope(scopeOf({ excludePaths: ['(a+)+$', '(a|a)*b'] }));
    const startedAt = performance.now();
    expect(scope.check(`https://example.com/${'a'.repeat(1500)}!`, 1)).toBeNull();
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});

describe('the other rules', () => {
  it('depth counts hops from the seed', () => {
    expectRules({ maxDepth: 2 }, [['/a/b/c/d/e', null]], 2);
    expectRules({ maxDepth: 2 }, [['/a', 'depth']], 3);
    expectRules({ maxDepth: null }, [['/a', null]], 1_000_000);
    expectRules({ maxDepth: 0 }, [['/a', 'depth']], 1);
  });

  it('path depth counts segments, whatever the hops, and an index file stands for its folder', () => {
    expectRules(
      { maxPathDepth: 2, allowExternalLinks: true },
      [
        ['/', null],
        ['/a/b', null],
        ['/a/b/', null],
        ['/a//b', null],
        ['/a/b/index.html', null],
        ['/a/b/Index.PHP?x=/c/d', null],
        ['/a/b/c', 'depth'],
        ['/a/b/page.html', 'depth'],
        ['/index.html/a/b', null],
        ['https://other.example/a/b/c', 'depth'],
      ],
      9,
    );
    expectRules({ maxPathDepth: 0, maxDepth: 1 }, [['/', null]], 1);
    expectRules({ maxPathDepth: 5, maxDepth: 1 }, [['/a', 'depth']], 2);
  });

  it('files that are no pages are left out, documents and unknown extensions stay', () => {
    expectRules({}, [
      ['/a.png', 'file-type'],
      ['/a.JPG', 'file-type'],
      ['/a.tar.gz', 'file-type'],
      ['/a.css?v=1', 'file-type'],
      ['/a.js', 'file-type'],
      ['/a.mp4', 'file-type'],
      ['/a.woff2', 'file-type'],
      ['/a.pdf', null],
      ['/a.docx', null],
      ['/a.html', null],
      ['/a.unknown', null],
      ['/node.js/guide', null],
      ['/.png', null],
      ['/a?file=b.png', null],
    ]);
  });

  it('a sequence of segments four times in a row is a trap', () => {
    expectRules({}, [
      ['/a/a/a/a', 'trap'],
      ['/a/a/a/b', null],
      ['/x/b/c/b/c/b/c/b/c/d', 'trap'],
      ['/b/c/b/c/b/c/b', null],
      ['/a/b/a/b/a/b/a/b', 'trap'],
      ['/2024/01/01/01/post', null],
      ['/a/a/a?a/a', null],
      [`/${'a/'.repeat(500)}`, 'trap'],
    ]);
  });

  it('what is no canonical http(s) URL is reported as scheme or length', () => {
    const scope = compileScope(scopeOf());
    expect(scope.check('ftp://example.com/', 0)).toBe('scheme');
    expect(scope.check('nonsense', 0)).toBe('scheme');
    expect(scope.check(`https://example.com/${'a'.repeat(MAX_URL_CHARS)}`, 0)).toBe('too-long');
  });

  it('the first rule in order is the one that is reported', () => {
    expectRules(
      { base: 'https://example.com/docs/', excludePaths: ['.*'], includePaths: ['/never'], maxDepth: 0 },
      [
        ['https://other.com/a/a/a/a.png', 'external'],
        ['/a/a/a/a/b.png', 'trap'],
        ['/b.png', 'file-type'],
        ['/b', 'path-prefix'],
        ['/docs/b', 'exclude'],
      ],
      1,
    );
  });
});

describe('the patterns of a page', () => {
  it('are matched for half a second in all; what is left is kept out by the budget, but for the start page', () => {
    let now = 0;
    const clock = () => (now += 100);
    const links = compileScope(scopeOf({ excludePaths: ['^/x'] })).ofPage(clock);
    const rules = Array.from({ length: 4 }, (_, i) => links.check(`https://example.com/${i}`, 0));
    expect(rules).toEqual([null, null, 'pattern-budget', 'pattern-budget']);
    expect(links.check('https://example.com/', 0)).toBeNull();
    expect(links.check('https://other.test/', 0)).toBe('external');
    const plain = compileScope(scopeOf()).ofPage(clock);
    expect(Array.from({ length: 20 }, (_, i) => plain.check(`https://example.com/${i}`, 0))).toEqual(
      Array(20).fill(null),
    );
  });
});
