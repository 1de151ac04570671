/** Damage as it happens to pages: cut off, bytes lost, pieces doubled, moved or mixed, tags and characters where none belong. */
/** @typedef {import('./random.mjs').Random} Random */

const PIECES = [
  ...'<,>,",\',&,/,=,<!--,-->,--!>,<![CDATA[,]]>,</,<!,<?,\0,\r,\r\n,\ufffd,&#xD800;,&#x110000;,&amp,&#,&lt'.split(','),
  ...'a b i em font nobr p div span table tr td th tbody caption colgroup col select option optgroup form button svg math'
    .split(' ')
    .flatMap((tag) => [`<${tag}>`, `</${tag}>`]),
  ...'template noscript script style title textarea pre li ul ol dl dd dt h1 h3 blockquote ruby rt details figure'
    .split(' ')
    .flatMap((tag) => [`<${tag}>`, `</${tag}>`]),
  ...[
    '<br>',
    '</br>',
    '</p>',
    '<hr>',
    '<img src=x alt="]">',
    '<a href="http://[">',
    '<a href="//">',
    '<base href="\u0001">',
  ],
  ...['<plaintext>', '<frameset>', '<foreignObject>', '<annotation-xml>', '<td colspan=99999 rowspan=99999>'],
  ...[
    '<meta charset=utf-16>',
    '<meta http-equiv=refresh content="0;url=">',
    '<html lang="\ud83d">',
    '😀',
    '\ud83d',
    '`',
    '|',
  ],
  ...['[', '](', '***', '~~~', '\\', '$', '<script type=application/ld+json>{"@graph":[{"@type":[]', '"}]}</script>'],
].map((piece) => Buffer.from(piece));

/** @param {Buffer} page @param {Random} random @param {readonly Buffer[]} corpus @returns {Buffer} */
function mutateOnce(page, random, corpus) {
  const at = random.below(page.length + 1);
  const to = Math.min(page.length, at + random.below(random.chance(0.2) ? 20_000 : 60));
  switch (random.below(8)) {
    case 0:
      return page.subarray(0, at);
    case 1:
      return page.subarray(at);
    case 2:
      return Buffer.concat([page.subarray(0, at), page.subarray(to)]);
    case 3:
      return Buffer.concat([page.subarray(0, to), page.subarray(at)]);
    case 4: {
      const other = random.pick(corpus);
      const from = random.below(other.length + 1);
      return Buffer.concat([
        page.subarray(0, at),
        other.subarray(from, from + random.below(20_000)),
        page.subarray(at),
      ]);
    }
    case 5: {
      const changed = Buffer.from(page);
      for (let i = random.below(30); i >= 0 && changed.length > 0; i--)
        changed[random.below(changed.length)] = random.below(256);
      return changed;
    }
    default:
      return Buffer.concat([page.subarray(0, at), random.pick(PIECES), page.subarray(at)]);
  }
}

/** @param {Random} random @param {readonly Buffer[]} corpus */
export function mutatedPage(random, corpus) {
  let page = random.pick(corpus);
  for (let i = random.below(12); i >= 0; i--) page = mutateOnce(page, random, corpus);
  return page.subarray(0, 1_000_000);
}

/** Nothing but pieces. @param {Random} random */
export function soup(random) {
  const parts = [];
  for (let i = random.below(400); i >= 0; i--) parts.push(random.pick(PIECES), Buffer.from(`w${i} `));
  return Buffer.concat(parts);
}
