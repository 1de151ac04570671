/** Identity of a brand: logo, favicon, picture for sharing, and the name. */
import type { BrandEvidence, LogoEvidence } from './evidence.js';
import { withoutGaps } from './without-gaps.js';

export interface Identity {
  brandName: string | undefined;
  /** Address or data URI. */
  logo: string | undefined;
  images: Record<string, unknown>;
}

export function readIdentity(evidence: BrandEvidence): Identity {
  const organisation = readOrganisation(evidence.jsonLd);
  const best = chooseLogo(evidence.logos);
  const written = organisation.logo ?? evidence.metas['og:logo'];
  const logo = best === undefined ? absolute(written, evidence.url) : sourceOf(best);
  return {
    brandName: readName(evidence, organisation.name, best),
    logo,
    images: withoutGaps({
      logo,
      favicon: chooseFavicon(evidence.icons),
      ogImage: absolute(evidence.metas['og:image'] ?? evidence.metas['og:image:url'], evidence.url),
      logoHref: best?.href,
      logoAlt: best === undefined || best.alt === '' ? undefined : best.alt,
    }),
  };
}

// ---- logo

const POINTS = {
  home: 5,
  header: 3,
  named: 4,
  heldByName: 3,
  top: 2,
  wide: 1,
  footer: -3,
  low: -3,
  tiny: -3,
  others: -8,
};
const MIN_POINTS = 5;
const TOP_PX = 250;
const LOW_PX = 1500;
const TINY_PX = 20;

/** The first of the most likely ones. */
export function chooseLogo(logos: readonly LogoEvidence[]): LogoEvidence | undefined {
  const judged = logos.map((logo) => ({ logo, points: likelihood(logo) })).sort((a, b) => b.points - a.points);
  return judged[0] !== undefined && judged[0].points >= MIN_POINTS ? judged[0].logo : undefined;
}

function likelihood(logo: LogoEvidence): number {
  return (
    (logo.isHomeLink ? POINTS.home : 0) +
    (logo.isInHeader ? POINTS.header : 0) +
    (logo.namesLogo === 'itself' ? POINTS.named : logo.namesLogo === 'holder' ? POINTS.heldByName : 0) +
    (logo.top < TOP_PX ? POINTS.top : logo.top > LOW_PX ? POINTS.low : 0) +
    (logo.width > logo.height * 1.5 ? POINTS.wide : 0) +
    (logo.isInFooter ? POINTS.footer : 0) +
    (logo.width < TINY_PX && logo.height < TINY_PX ? POINTS.tiny : 0) +
    (logo.isOfOthers ? POINTS.others : 0)
  );
}

function sourceOf({ src, svg }: LogoEvidence): string | undefined {
  if (svg !== null) return `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`;
  return src ?? undefined;
}

/** The largest one that is meant for browsers, else for home screens. */
function chooseFavicon(icons: BrandEvidence['icons']): string | undefined {
  const ordinary = icons.filter(({ rel }) => !rel.includes('apple'));
  return [...(ordinary.length > 0 ? ordinary : icons)].sort((a, b) => b.px - a.px)[0]?.href;
}

function absolute(address: string | undefined, base: string): string | undefined {
  return address === undefined ? undefined : URL.parse(address, base)?.href;
}

// ---- JSON-LD

interface Organisation {
  name?: string;
  logo?: string;
}

const MAX_LD_NODES = 500;

/** The first organisation that a page describes as such; its name may come from the site. */
function readOrganisation(texts: readonly string[]): Organisation {
  const found: Organisation = {};
  let siteName: string | undefined;
  for (const node of texts.flatMap(nodesOf)) {
    const type = [node['@type']].flat().filter((name) => typeof name === 'string');
    if (type.some((name) => /Organization|Corporation|Business|Brand$|Store$/.test(name))) {
      found.name ??= textOf(node['name']);
      found.logo ??= textOf(node['logo']) ?? textOf((node['logo'] as { url?: unknown } | null | undefined)?.url);
    }
    if (type.includes('WebSite')) siteName ??= textOf(node['name']);
  }
  if (siteName !== undefined) found.name ??= siteName;
  return found;
}

function nodesOf(text: string): Record<string, unknown>[] {
  const nodes: Record<string, unknown>[] = [];
  const waiting: unknown[] = [parseJson(text)];
  while (waiting.length > 0 && nodes.length < MAX_LD_NODES) {
    const value = waiting.shift();
    if (Array.isArray(value)) waiting.push(...value.slice(0, MAX_LD_NODES));
    else if (typeof value === 'object' && value !== null) {
      nodes.push(value as Record<string, unknown>);
      const { '@graph': graph, publisher } = value as Record<string, unknown>;
      waiting.push(graph, publisher);
    }
  }
  return nodes;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

// ---- name

const TITLE_BREAK = /\s+[|–—·•»:-]\s+|:\s+/;
const MAX_NAME_CHARS = 60;
const LOGO_WORDS = /\b(?:logo(?:type)?|home ?page|home|wordmark|go to)\b/gi;

function readName(
  evidence: BrandEvidence,
  organisation: string | undefined,
  logo: LogoEvidence | undefined,
): string | undefined {
  const { metas } = evidence;
  const alt = (logo?.alt ?? '')
    .replace(LOGO_WORDS, ' ')
    .replace(/\s+/g, ' ')
    .replace(/^[\s,-]+|[\s,-]+$/g, '');
  const names = [
    metas['og:site_name'],
    metas['application-name'],
    metas['apple-mobile-web-app-title'],
    organisation,
    alt,
    nameInTitle(evidence),
  ];
  return names.find((name) => name !== undefined && name !== '' && name.length <= MAX_NAME_CHARS);
}

/** The part that the host is called after; else the short one of a start page, and the last one of others. */
function nameInTitle({ title, url }: BrandEvidence): string | undefined {
  const parts = title
    .split(TITLE_BREAK)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const address = URL.parse(url);
  const host = plain(address?.hostname ?? '');
  const ofHost = parts.find((part) => plain(part).length > 2 && host.includes(plain(part)));
  if (ofHost !== undefined) return ofHost;
  const isStart = (address?.pathname ?? '/') === '/';
  return isStart ? [...parts].sort((a, b) => a.length - b.length)[0] : parts.at(-1);
}

function plain(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
