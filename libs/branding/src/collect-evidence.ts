/**
 * Runs in the page, in a world of its own: its text is sent there, so it may use nothing of this module but types.
 *
 * It counts, and leaves to the rules outside all that they can judge. All of it is bounded: elements, time, lengths and numbers of
 * the results.
 */
import type { BrandEvidence, ButtonEvidence, LogoEvidence, Tally, TextStyle } from './evidence.js';
import type { PageDocument, PageElement, PageStyle, PageWindow } from './page-dom.js';

export interface EvidenceLimits {
  maxElements: number;
  /** Time for looking at them, beside the time of the layout. Elements left over then are left out. */
  budgetMs: number;
}

declare const document: PageDocument;
declare const window: PageWindow;

/** Looks at the page as it is shown now. */
export function collectEvidence(limits: EvidenceLimits): BrandEvidence {
  const MAX_TALLY = 40;
  const MAX_TEXT = 300;
  const MAX_SVG_CHARS = 60_000;
  const MAX_DATA_URI_CHARS = 100_000;
  const MAX_CONTROLS = 150;
  const MAX_LOGOS = 30;
  const MAX_TOLD = 500;
  const MAX_HOSTS_SEARCHED = 10_000;
  const CODE = 'pre, code, kbd, samp, tt';
  const SKIPPED = 'script, style, noscript, template, head, option, svg *, iframe, object, br, source, track';
  const view = { width: window.innerWidth, height: window.innerHeight };
  const pageHeight = Math.max(view.height, document.body?.getBoundingClientRect().height ?? 0);

  // ---- counting

  const tallies = new Map<string, Map<string, number>>();
  const count = (name: string, value: string, weight = 1): void => {
    if (value === '' || weight <= 0) return;
    let tally = tallies.get(name);
    if (tally === undefined) tallies.set(name, (tally = new Map<string, number>()));
    tally.set(value.slice(0, MAX_TEXT), (tally.get(value.slice(0, MAX_TEXT)) ?? 0) + weight);
  };
  const most = (name: string): Tally => [...(tallies.get(name) ?? [])].sort((a, b) => b[1] - a[1]).slice(0, MAX_TALLY);

  // ---- styles

  const canvas = new window.OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const colours = new Map<string, string>();
  /** Any colour as `rgba()`, '' for none and for an invisible one. */
  const colourOf = (text: string): string => {
    const known = colours.get(text);
    if (known !== undefined) return known;
    const colour = readColour(text);
    if (colours.size < 2000) colours.set(text, colour);
    return colour;
  };
  const readColour = (text: string): string => {
    if (text === '' || text.length > 100 || /^(transparent|none|inherit|currentcolor)$/i.test(text)) return '';
    if (!window.CSS.supports('color', text)) return '';
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = Array.from(canvas.getImageData(0, 0, 1, 1).data) as [number, number, number, number];
    return a < 13 ? '' : `rgba(${r}, ${g}, ${b}, ${Math.round((a / 255) * 100) / 100})`;
  };
  const px = (text: string): number => Math.round((Number.parseFloat(text) || 0) * 100) / 100;
  const css = (style: PageStyle, name: string): string => style.getPropertyValue(name);
  /** Colour that fills a box: the first colour of a gradient covers the plain colour below. */
  const fillOf = (style: PageStyle): string => {
    const image = css(style, 'background-image').slice(0, 2000);
    const stop = image.includes('gradient(')
      ? /(?:rgba?|hsla?|oklch|oklab|lab|lch|color)\([^()]{1,80}\)|#[0-9a-f]{3,8}/i.exec(image)?.[0]
      : undefined;
    return (stop === undefined ? '' : colourOf(stop)) || colourOf(css(style, 'background-color'));
  };
  const borderOf = (style: PageStyle): string => {
    for (const side of ['bottom', 'top', 'left']) {
      if (px(css(style, `border-${side}-width`)) > 0 && css(style, `border-${side}-style`) !== 'none')
        return colourOf(css(style, `border-${side}-color`));
    }
    return '';
  };
  const isShown = (element: PageElement): boolean =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: false });
  const ownChars = (element: PageElement): number => {
    let chars = 0;
    for (const node of element.childNodes) if (node.nodeType === 3) chars += (node.nodeValue ?? '').trim().length;
    return Math.min(chars, 2000);
  };
  const namesOf = (element: PageElement): string =>
    `${element.getAttribute('class') ?? ''} ${element.id}`.slice(0, MAX_TEXT).toLowerCase();
  const textStyle = (style: PageStyle): TextStyle => {
    const size = px(css(style, 'font-size'));
    const line = px(css(style, 'line-height'));
    return {
      color: colourOf(css(style, 'color')),
      size: `${size}px`,
      lineHeight: line > 0 && size > 0 ? Math.round((line / size) * 100) / 100 : 0,
      weight: px(css(style, 'font-weight')),
      stack: css(style, 'font-family').slice(0, MAX_TEXT),
    };
  };
  const absolute = (text: string | null | undefined): string | null => {
    try {
      return text ? new URL(text, document.baseURI).href.slice(0, MAX_DATA_URI_CHARS + 1) : null;
    } catch {
      return null;
    }
  };

  // ---- elements

  /** Takes one of every n elements of a large page, not always the same of them, but all that tell most. */
  const chooseElements = (): PageElement[] => {
    const told = [...document.querySelectorAll('h1, h2, h3, header, footer, nav, main, button, input, section')];
    const all = document.body?.querySelectorAll('*') ?? [];
    const chosen = new Set([...told.slice(0, MAX_TOLD), ...insideShadows(all)]);
    const step = Math.max(1, Math.ceil(all.length / Math.max(1, limits.maxElements - chosen.size)));
    for (let i = 0; i * step < all.length && chosen.size < limits.maxElements; i++) {
      const element = all[i * step + ((i * 7919) % step)];
      if (element !== undefined) chosen.add(element);
    }
    return [...chosen].filter((element) => !element.matches(SKIPPED));
  };
  const insideShadows = (all: ArrayLike<PageElement>): PageElement[] => {
    const inside: PageElement[] = [];
    const most = limits.maxElements / 3;
    for (let i = 0; i < Math.min(all.length, MAX_HOSTS_SEARCHED) && inside.length < most; i++) {
      for (const child of all[i]!.shadowRoot?.children ?? []) inside.push(child, ...child.querySelectorAll('*'));
    }
    return inside.slice(0, most);
  };

  const canvasFills: string[] = [];
  const buttons: ButtonEvidence[] = [];
  const messages: BrandEvidence['messages'] = [];
  const headings: BrandEvidence['headings'] = {};
  let small: TextStyle | null = null;
  let body: { style: TextStyle; chars: number } | null = null;

  const isButton = (element: PageElement, style: PageStyle, width: number, height: number): boolean => {
    if (width < 24 || height < 16 || height > 120 || width > 600) return false;
    if (element.matches('button, [role=button], input[type=submit], input[type=button]'))
      return (element.textContent + (element.getAttribute('value') ?? '')).trim() !== '';
    if (element.localName !== 'a' || element.textContent.trim() === '') return false;
    if (/(^|[\s_-])(btn|button|cta)($|[\s_-])/.test(namesOf(element))) return true;
    const isBox = css(style, 'display') !== 'inline' || px(css(style, 'padding-top')) >= 4;
    const isPainted = colourOf(css(style, 'background-color')) !== '' || borderOnAllSides(style);
    return isBox && isPainted && px(css(style, 'padding-left')) >= 8 && element.children.length < 4;
  };
  const borderOnAllSides = (style: PageStyle): boolean =>
    ['top', 'right', 'bottom', 'left'].every((side) => px(css(style, `border-${side}-width`)) > 0) &&
    borderOf(style) !== '';
  const addButton = (element: PageElement, style: PageStyle, area: number): void => {
    const names = namesOf(element);
    const named = /primary|cta|brand/.test(names)
      ? ('primary' as const)
      : /secondary|outline|ghost|tertiary/.test(names)
        ? ('secondary' as const)
        : null;
    buttons.push({
      background: fillOf(style),
      color: colourOf(css(style, 'color')),
      border: borderOf(style),
      radius: css(style, 'border-top-left-radius').split(' ')[0]!,
      area,
      named,
      isSubmit: element.getAttribute('type') === 'submit',
      paddingPx: px(css(style, 'padding-left')),
    });
  };

  // eslint-disable-next-line complexity -- it is sent into the page as one text
  const countText = (element: PageElement, style: PageStyle, chars: number): void => {
    const look = textStyle(style);
    const heading = element.closest('h1, h2, h3, h4, h5, h6')?.localName ?? null;
    const link = element.closest('a[href]');
    count('weights', String(look.weight), chars);
    if (element.closest(CODE) !== null) return count('codeStacks', look.stack, chars);
    if (heading !== null) {
      count('headingStacks', look.stack, chars);
      if (heading === 'h1' || heading === 'h2' || heading === 'h3') headings[heading] ??= look;
      return;
    }
    if (element.closest('button, [role=button], input, select, textarea') !== null) return;
    count('bodyStacks', look.stack, chars);
    if (link !== null) {
      const isRunning =
        link.closest('p, li, dd, td, blockquote') !== null && link.closest('nav, header, footer') === null;
      return count(isRunning ? 'links' : 'otherLinks', look.color, chars);
    }
    count('texts', look.color, chars);
    count('sizes', look.size, chars);
    if (element.closest('p') !== null) count('paragraphStacks', look.stack, chars);
    if (element.closest('p, li, dd, blockquote') !== null && chars > (body?.chars ?? 0)) body = { style: look, chars };
    if (element.closest('small, figcaption, caption, [class*=caption], [class*=small]') !== null) small ??= look;
  };

  const countBox = (element: PageElement, style: PageStyle, width: number, height: number): void => {
    const fill = fillOf(style);
    const coversPage = width >= view.width * 0.95 && height >= pageHeight * 0.9;
    if (fill !== '' && coversPage && canvasFills.length < 5) canvasFills.push(fill);
    else if (fill !== '') count('backgrounds', fill, Math.min(width * height, view.width * view.height));
    const border = borderOf(style);
    count('borders', border);
    const radius = css(style, 'border-top-left-radius').split(' ')[0]!;
    if ((fill !== '' || border !== '') && width > 40 && height > 20 && !coversPage) count('radii', radius);
  };

  const countSpaces = (element: PageElement, style: PageStyle): void => {
    const sides = ['top', 'right', 'bottom', 'left'];
    const isSection = element.matches('section, header, footer, main > div');
    for (const side of sides) {
      const padding = px(css(style, `padding-${side}`));
      const margin = px(css(style, `margin-${side}`));
      if (padding > 0) count('paddings', String(padding));
      if (margin > 0 && margin < 200) count('margins', String(margin));
      if (isSection && side === 'top' && padding > 0) count('sectionPaddings', String(padding));
    }
    const below = px(css(style, 'margin-bottom'));
    if (element.localName === 'p' && below > 0) count('paragraphMargins', String(below));
    if (/^h[1-6]$/.test(element.localName) && below > 0) count('headingMargins', String(below));
  };

  const countLayout = (element: PageElement, style: PageStyle, width: number): void => {
    const display = css(style, 'display');
    if (/grid|flex/.test(display) && element.children.length > 1) {
      const gap = px(css(style, 'column-gap')) || px(css(style, 'row-gap'));
      if (gap > 0) count('gaps', String(gap), display.includes('grid') ? 3 : 1);
    }
    if (display.includes('grid')) {
      const columns = css(style, 'grid-template-columns')
        .split(' ')
        .filter((track) => /px$/.test(track)).length;
      if (columns > 1) count('columns', String(columns), Math.min(width, view.width));
    }
    const maxWidth = css(style, 'max-width');
    if (/^[\d.]+px$/.test(maxWidth) && px(maxWidth) >= 480 && width > view.width * 0.3)
      count('maxWidths', maxWidth, element.children.length + 1);
  };

  const countMessage = (element: PageElement, style: PageStyle): void => {
    if (messages.length >= MAX_TALLY) return;
    const word = /(?:^|[\s_-])(success|warning|error|danger)(?:$|[\s_-])/.exec(namesOf(element))?.[1];
    if (word === undefined) return;
    messages.push({ word, color: colourOf(css(style, 'color')), background: fillOf(style), border: borderOf(style) });
  };

  const countMotion = (style: PageStyle): void => {
    const duration = css(style, 'transition-duration').split(',')[0]!.trim();
    if (!/^(?:0\.0*[1-9]|[1-9]|0\.[1-9])/.test(duration)) return;
    count('durations', duration);
    count('easings', /^(?:[a-z-]+\([^)]*\)|[a-z-]+)/.exec(css(style, 'transition-timing-function'))?.[0] ?? '');
  };

  const countIcon = (icon: PageElement, style: PageStyle): void => {
    const shape = icon.querySelector('path, circle, rect, line, polyline, polygon, ellipse');
    const shapeStyle = shape === null ? style : window.getComputedStyle(shape);
    const stroke = colourOf(css(shapeStyle, 'stroke'));
    const fill = colourOf(css(shapeStyle, 'fill'));
    count('iconStyles', stroke !== '' && fill === '' ? 'outline' : 'filled');
    count('iconColors', stroke !== '' && fill === '' ? stroke : fill);
  };

  const look = (element: PageElement): void => {
    const rect = element.getBoundingClientRect();
    if (rect.width === 0 || rect.height === 0 || !isShown(element)) return;
    const style = window.getComputedStyle(element);
    if (element.localName === 'svg') {
      if (rect.width <= 64 && rect.height <= 64) countIcon(element, style);
      return;
    }
    countMotion(style);
    countMessage(element, style);
    if (isButton(element, style, rect.width, rect.height)) {
      if (buttons.length < MAX_CONTROLS) addButton(element, style, rect.width * rect.height);
      return;
    }
    const chars = ownChars(element);
    if (chars > 0) countText(element, style, chars);
    countSpaces(element, style);
    countLayout(element, style, rect.width);
    if (!element.matches('input, select, textarea')) countBox(element, style, rect.width, rect.height);
  };

  // ---- logos

  const LOGO = /(?:^|[^a-z])(?:logo|brand|wordmark|logotype)(?:$|[^a-z])|logo/i;
  const isHome = (href: string | null): boolean => {
    if (href === null) return false;
    const [link, page] = [new URL(href), new URL(document.baseURI)];
    return link.host === page.host && /^\/(?:[a-z]{2}(?:-[a-z]{2})?\/?|index\.\w+|home\/?)?$/i.test(link.pathname);
  };
  // eslint-disable-next-line complexity -- it is sent into the page as one text
  const markupOf = (drawing: PageElement): string | null => {
    if (drawing.outerHTML.length > MAX_SVG_CHARS) return null;
    const copy = drawing.cloneNode(true);
    for (const part of copy.querySelectorAll('script, foreignObject, animate, set')) part.remove();
    for (const use of copy.querySelectorAll('use')) {
      const name = (use.getAttribute('href') ?? use.getAttribute('xlink:href') ?? '').replace(/^#/, '');
      const symbol = name === '' ? null : document.getElementById(name);
      if (symbol !== null && drawing.querySelector(`[id="${name.replace(/["\\]/g, '')}"]`) === null)
        copy.append(symbol.cloneNode(true));
    }
    for (const part of [copy, ...copy.querySelectorAll('*')])
      for (const { name } of [...part.attributes]) if (name.startsWith('on')) part.removeAttribute(name);
    const { width, height } = drawing.getBoundingClientRect();
    copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
    if (copy.getAttribute('viewBox') === null && copy.getAttribute('width') === null)
      copy.setAttribute('viewBox', `0 0 ${Math.round(width)} ${Math.round(height)}`);
    copy.setAttribute('color', colourOf(css(window.getComputedStyle(drawing), 'color')) || 'black');
    return copy.outerHTML.length > MAX_SVG_CHARS ? null : copy.outerHTML;
  };
  // eslint-disable-next-line complexity -- one line a sign
  const readLogo = (element: PageElement): LogoEvidence | null => {
    const rect = element.getBoundingClientRect();
    if (rect.width < 12 || rect.height < 8 || rect.width > 800 || rect.height > 500 || !isShown(element)) return null;
    const isDrawing = element.localName === 'svg';
    const background =
      isDrawing || element.localName === 'img' ? '' : css(window.getComputedStyle(element), 'background-image');
    const address = isDrawing
      ? null
      : (/url\("?([^")]+)"?\)/.exec(background)?.[1] ?? element.currentSrc ?? element.src);
    const src = absolute(address);
    const svg = isDrawing ? markupOf(element) : null;
    if ((src === null && svg === null) || (src?.length ?? 0) > MAX_DATA_URI_CHARS) return null;
    const link = element.closest('a[href]');
    const href = absolute(link?.getAttribute('href'));
    const label = isDrawing
      ? (element.getAttribute('aria-label') ?? element.querySelector('title')?.textContent)
      : element.getAttribute('alt');
    const alt = (label || link?.getAttribute('aria-label') || element.getAttribute('title') || '').trim();
    const own = `${namesOf(element)} ${alt} ${(src ?? '').startsWith('data:') ? '' : (src ?? '').split('/').pop()}`;
    const holders = [element.parentElement, element.parentElement?.parentElement ?? null, link];
    const isHeld = holders.some((holder) => holder !== null && LOGO.test(namesOf(holder)));
    return {
      src,
      svg,
      alt: alt.slice(0, MAX_TEXT),
      href,
      isHomeLink: isHome(href),
      isInHeader:
        element.closest('header, [role=banner], nav, [class*=header i], [id*=header i], [class*=navbar i]') !== null,
      isInFooter: element.closest('footer, [role=contentinfo], [class*=footer i]') !== null,
      namesLogo: LOGO.test(own) ? 'itself' : isHeld ? 'holder' : null,
      isOfOthers:
        element.closest(
          '[class*=client i], [class*=partner i], [class*=customer i], [class*=sponsor i], [class*=trusted i], [class*=testimonial i], [class*=logos i]',
        ) !== null,
      top: Math.round(rect.top + window.scrollY),
      width: Math.round(rect.width),
      height: Math.round(rect.height),
    };
  };
  const readLogos = (): LogoEvidence[] => {
    const near = [
      ...document.querySelectorAll('header img, header svg, nav img, nav svg, [role=banner] img, [role=banner] svg'),
    ].slice(0, MAX_LOGOS);
    const home = [...document.querySelectorAll('a[href] img, a[href] svg')].slice(0, MAX_LOGOS * 4);
    const named = [
      ...document.querySelectorAll(
        '[class*=logo i], [id*=logo i], img[alt*=logo i], img[src*=logo i], [class*=brand i]',
      ),
    ].slice(0, MAX_LOGOS * 2);
    const inside = named.flatMap((element) => [element, ...[...element.querySelectorAll('img, svg')].slice(0, 3)]);
    const found: LogoEvidence[] = [];
    for (const element of new Set([...near, ...inside, ...home])) {
      if (element.closest('svg') !== null && element.localName !== 'svg') continue;
      const logo = found.length < MAX_LOGOS ? readLogo(element) : null;
      if (logo !== null) found.push(logo);
    }
    return found;
  };

  // ---- what the head and the root say

  const readMetas = (): Record<string, string> => {
    const metas: Record<string, string> = {};
    for (const meta of [...document.querySelectorAll('meta[name], meta[property]')].slice(0, 200)) {
      const name = (meta.getAttribute('property') ?? meta.getAttribute('name') ?? '').toLowerCase().slice(0, 100);
      const content = (meta.getAttribute('content') ?? '').trim();
      if (content !== '') metas[name] ??= content.slice(0, 2000);
    }
    return metas;
  };
  const readIcons = (): BrandEvidence['icons'] =>
    [...document.querySelectorAll('link[rel~=icon i], link[rel~="apple-touch-icon" i]')]
      .slice(0, 20)
      .flatMap((link) => {
        const href = absolute(link.getAttribute('href'));
        const px = Number.parseInt(link.getAttribute('sizes') ?? '', 10) || 0;
        return href === null || href.length > MAX_DATA_URI_CHARS
          ? []
          : [{ rel: (link.getAttribute('rel') ?? '').toLowerCase(), href, px }];
      });
  const readVariables = (): [string, string][] => {
    const found = new Map<string, string>();
    for (const root of [document.documentElement, document.body]) {
      if (root === null) continue;
      let seen = 0;
      for (const [name, values] of root.computedStyleMap()) {
        if (!name.startsWith('--') || ++seen > 2000 || found.size >= 300) continue;
        const text = Array.from(values, String).join('').trim();
        const parts = /^\d{1,3}(?:\s*,\s*|\s+)\d{1,3}(?:\s*,\s*|\s+)\d{1,3}$/.test(text) ? `rgb(${text})` : text;
        const turned = /^[\d.]+(?:deg)?\s+[\d.]+%\s+[\d.]+%$/.test(text) ? `hsl(${text})` : parts;
        const colour = colourOf(turned);
        if (colour !== '') found.set(name.slice(2, 82), colour);
      }
    }
    return [...found];
  };
  const heightOf = (selector: string): number => {
    const element = [...document.querySelectorAll(selector)].find(isShown);
    return element === undefined ? 0 : Math.round(element.getBoundingClientRect().height);
  };
  const rootFills = (): string[] =>
    [document.documentElement, document.body].map((root) =>
      root === null ? '' : fillOf(window.getComputedStyle(root)),
    );
  const readInputs = (): BrandEvidence['inputs'] =>
    [...document.querySelectorAll('input, textarea, select')]
      .filter((input) => !input.matches('[type=hidden], [type=submit], [type=button], [type=checkbox], [type=radio]'))
      .slice(0, MAX_CONTROLS)
      .filter(isShown)
      .slice(0, 20)
      .map((input) => {
        const style = window.getComputedStyle(input);
        const radius = css(style, 'border-top-left-radius').split(' ')[0]!;
        return { border: borderOf(style), focusBorder: '', radius, paddingPx: px(css(style, 'padding-left')) };
      });

  const elements = chooseElements();
  const endsAt = performance.now() + limits.budgetMs;
  for (const element of elements) {
    if (performance.now() > endsAt) break;
    look(element);
  }
  const bodyStyle = document.body === null ? null : textStyle(window.getComputedStyle(document.body));
  const scheme = css(window.getComputedStyle(document.documentElement), 'color-scheme');
  return {
    url: document.baseURI,
    title: document.title.slice(0, MAX_TEXT),
    metas: readMetas(),
    icons: readIcons(),
    jsonLd: [...document.querySelectorAll('script[type="application/ld+json"]')]
      .slice(0, 10)
      .map(({ textContent }) => textContent)
      .filter((text) => text.length <= 50_000),
    canvas: [...rootFills(), ...canvasFills],
    defaults: scheme.includes('dark') && !scheme.includes('light') ? 'dark' : 'light',
    variables: readVariables(),
    backgrounds: most('backgrounds'),
    texts: most('texts'),
    links: most('links'),
    otherLinks: most('otherLinks'),
    borders: most('borders'),
    messages,
    bodyStacks: most('bodyStacks'),
    headingStacks: most('headingStacks'),
    paragraphStacks: most('paragraphStacks'),
    codeStacks: most('codeStacks'),
    sizes: most('sizes'),
    weights: most('weights'),
    headings,
    body: (body as { style: TextStyle } | null)?.style ?? bodyStyle,
    small,
    paddings: most('paddings'),
    margins: most('margins'),
    gaps: most('gaps'),
    sectionPaddings: most('sectionPaddings'),
    headingMargins: most('headingMargins'),
    paragraphMargins: most('paragraphMargins'),
    radii: most('radii'),
    buttons,
    inputs: readInputs(),
    iconStyles: most('iconStyles'),
    iconColors: most('iconColors'),
    durations: most('durations'),
    easings: most('easings'),
    logos: readLogos(),
    columns: most('columns'),
    maxWidths: most('maxWidths'),
    headerPx: heightOf('header, [role=banner], body > nav'),
    footerPx: heightOf('footer, [role=contentinfo]'),
  };
}
