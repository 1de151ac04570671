/**
 * Decides what kind of page the bytes are.
 *
 * `challenge`: little text, and a known captcha or bot wall (markup or title). `shell`: little text and signs that scripts
 * would bring more: an empty mount element of a framework, a notice that JavaScript is needed, or scripts and next to no
 * text. `empty`: nothing to see, no media, rule or code box either. A page with `PLENTY_CHARS` of text is never anything but content, a
 * rendered page (scripts have run) never a shell, and error pages (status >= 400) are not taken for shells.
 */
import type { PageVerdict } from '@troupe/contracts';
import { A, type Measures, T, TEXT, type Tree } from '@troupe/html';

const PLENTY_CHARS = 1500;
/** A bot wall answered with success has less than this. */
const WALL_CHARS = 600;
/** Below this a framework's page with an empty mount element is a shell. */
const SHELL_CHARS = 500;
/** Below this a page with scripts is a shell whatever its markup. */
const BARE_CHARS = 40;
const MOUNT_IDS =
  /^(?:root|app|__next|__nuxt|___gatsby|svelte|app-root|react-root|main-app|q-app|ember-app|mount|application)$/;
const MOUNT_TAGS = /^(?:app-root|my-app|ng-app|app-component|polymer-app)$/;
const NEEDS_SCRIPT =
  /(?:enable|activate|turn on|requires?|needs?|without|allow)[^.]{0,60}javascript|javascript[^.]{0,60}(?:enable|disabled|required|necessary|turned off|not available)/i;
const CHALLENGE_TITLE =
  /^(?:just a moment|attention required!? \| cloudflare|access denied|please wait|verify(?:ing)? (?:you are|that you are|your are) (?:a )?human|are you (?:a )?(?:robot|human)|robot check|security check|ddos-guard|checking your browser|human verification|bot verification|pardon our interruption|access to this page has been denied|sucuri website firewall|robot or human|request (?:blocked|rejected)|the request could not be satisfied|one more step|captcha|un instant|einen moment)/i;
/** Marks of walls alone: on a refusal, or on a page that shows next to nothing else. */
const CHALLENGE_MARKS = [
  'cf-chl-',
  '_cf_chl_opt',
  '/orchestrate/chl_page/',
  'SWUDNSAI=',
  'Incapsula incident ID',
  'px-captcha',
  'px-cdn.net/captcha',
  'captcha-delivery.com',
  'ddos-guard',
  'sucuri_cloudproxy',
  'awsWafCookieDomainList',
  'gokuProps',
  '/_sec/cp_challenge',
  'sec-if-cpt-container',
  'distil_r_captcha',
];
/** Scripts that also watch over ordinary pages. On a refusal, or alone on a blank page, they are a wall. */
const SENSOR_MARKS = ['_Incapsula_Resource', 'token.awswaf.com', 'errors.edgesuite.net'];
/** Words beside a captcha that is all there is, and not part of a form to fill in. */
const GATE =
  /(?:verify|confirm|prove|check|make sure)[^.<]{0,30}\byou(?:'|’|&#39;|&#x27;| a)re (?:a )?(?:human|not a (?:ro)?bot)|unusual (?:traffic|activity)|complete the (?:security check|captcha)|press (?:&amp;|&|and) hold|i(?:'|’|&#39;| a)m not a robot to continue/i;
const FIELDS = /<textarea|<input[^>]{0,200}type=["']?(?:text|email|password|tel|search)\b/i;
const CAPTCHA_MARKS = ['g-recaptcha', 'h-captcha', 'cf-turnstile'];

const REFUSALS = new Set([401, 403, 405, 406, 418, 429, 503]);

export interface VerdictInput {
  tree: Tree;
  measures: Measures;
  title: string | null;
  statusCode: number;
  rendered: boolean;
}

export function judgePage(input: VerdictInput): PageVerdict {
  const chars = input.measures.text[0]!;
  if (chars >= PLENTY_CHARS) return 'content';
  if (isChallenge(input, chars)) return 'challenge';
  const signs = readSigns(input.tree, input.measures);
  if (!input.rendered && input.statusCode < 400 && isShell(signs, chars)) return 'shell';
  return chars === 0 && !signs.hasMedia && !signs.hasShape ? 'empty' : 'content';
}

// eslint-disable-next-line complexity -- one line a sign
function isChallenge({ tree, title, statusCode }: VerdictInput, chars: number): boolean {
  const { source } = tree;
  const isRefusal = REFUSALS.has(statusCode);
  const isBare = statusCode < 400 && chars < WALL_CHARS;
  if (!isRefusal && !isBare) return false;
  const has = (marks: string[]): boolean => marks.some((mark) => source.includes(mark));
  if (has(CHALLENGE_MARKS)) return true;
  if ((isRefusal || chars < BARE_CHARS) && has(SENSOR_MARKS)) return true;
  const hasCaptcha = CAPTCHA_MARKS.some((mark) => source.includes(mark));
  if (hasCaptcha && (isRefusal || (GATE.test(source) && !FIELDS.test(source)))) return true;
  const isSuspect = title !== null && CHALLENGE_TITLE.test(title.trim().slice(0, 200));
  return isSuspect && (isRefusal || hasCaptcha || (isBare && source.includes('<script')));
}

interface Signs {
  scripts: number;
  hasMedia: boolean;
  hasShape: boolean;
  hasEmptyMount: boolean;
  needsScript: boolean;
  links: number;
}

function isShell(signs: Signs, chars: number): boolean {
  if (signs.scripts === 0) return false;
  if (chars < SHELL_CHARS && (signs.hasEmptyMount || signs.needsScript)) return true;
  return chars < BARE_CHARS && signs.links < 2 && !signs.hasMedia;
}

const MEDIA: ReadonlySet<number> = new Set([
  T.img,
  T.video,
  T.audio,
  T.iframe,
  T.object,
  T.embed,
  T.svg,
  T.canvas,
  T.frame,
  T.input,
]);

function readSigns(tree: Tree, measures: Measures): Signs {
  const signs: Signs = {
    scripts: 0,
    hasMedia: false,
    hasShape: false,
    hasEmptyMount: false,
    needsScript: false,
    links: measures.links[0]!,
  };
  for (let node = 1; node < tree.count; node++) {
    const tag = tree.tag[node]!;
    if (tag === TEXT) continue;
    if (tag === T.script) signs.scripts++;
    else if (tag === T.noscript) signs.needsScript ||= NEEDS_SCRIPT.test(tree.textContent(node).slice(0, 2000));
    else if (MEDIA.has(tag)) signs.hasMedia = true;
    else if (tag === T.hr || tag === T.pre) signs.hasShape = true;
    else if (measures.text[node]! < BARE_CHARS) signs.hasEmptyMount ||= isMount(tree, node);
  }
  return signs;
}

function isMount(tree: Tree, node: number): boolean {
  const id = tree.attr(node, A.id);
  return (id !== null && MOUNT_IDS.test(id)) || MOUNT_TAGS.test(tree.name(node));
}
