/**
 * Kinds of an element by the words in its class, id and role attributes: a set, one bit each.
 *
 * The words are those that page builders use everywhere; single words, so that `post-body`, `postBody` and `post_body`
 * read the same.
 */
import { A, type Tree } from '@troupe/html';
import { WordKinds } from './word-kinds.js';

const KIND_WORDS = {
  nav:
    'nav navbar navbars navigation menu menus submenu megamenu menubar menuitem topnav mainnav subnav sidenav leftnav footernav ' +
    'navmenu sitemap skip jump navi offcanvas hamburger drawer',
  breadcrumb: 'breadcrumb breadcrumbs crumb crumbs breadcrumblist brotkrumen',
  header: 'header masthead topbar banner top head kopf pagehead toolbox',
  footer: 'footer foot colophon bottom fuss copyright contentinfo footerlinks legal impressum backtotop disclaimer',
  sidebar:
    'sidebar side aside rail widget widgets secondary complementary rightcol leftcol sidebox marginal right left col3',
  share:
    'share sharing sharebar shares social socials addtoany addthis twitter facebook whatsapp linkedin pinterest follow teilen sharedaddy',
  ad: 'ad ads adsense advert adverts advertisement advertising sponsor sponsored outbrain taboola werbung anzeige anzeigen dfp adslot gpt',
  promo:
    'promo promos promotion promotions cta upsell banner offer offers deal deals campaign announcement notice alert',
  related:
    'related recommended recommendation recommendations recommend similar also popular trending latest recent mostread next prev ' +
    'previous suggested suggestions readmore further verwandte aehnliche weitere adjacent siblings bestseller',
  comment:
    'comment comments commentlist respond kommentar kommentare disqus discussion commentform feedback leserkommentare',
  post:
    'post posts message messages reply replies thread threads topic topics answer answers question questions postbody postcontent ' +
    'posttext msgbody messagebody msg postrow threadtext beitrag forum forums conversation',
  user: 'user users author authors avatar profile userinfo postprofile poster member members username autor bio contributor usercard',
  signature: 'signature sig signatur',
  meta: 'meta metadata byline date time timestamp published info details stats views dateline pubdate datum posted updated counter count',
  tags: 'tag tags category categories label labels badge badges chip chips keywords topiclist tagcloud rubrik cat',
  content:
    'content contents main maincontent body text story prose markdown documentation richtext copy description summary readme ' +
    'inhalt rte wysiwyg entry excerpt intro lead abstract',
  article: 'article articlebody articlecontent entrycontent artikel storybody blog single news',
  product:
    'product products price prices pricing buy sku cart basket variant variants shop shipping stock quantity addtocart preis wishlist checkout',
  spec: 'spec specs specification specifications attributes attribute features feature technical table params properties datasheet',
  review: 'review reviews rating ratings star stars testimonial testimonials recension',
  list:
    'card cards list lists listing listings grid item items result results tile tiles teaser teasers collection collections gallery ' +
    'feed row archive loop directory catalog overview',
  paging: 'pagination pager paging pages page loadmore showmore more pagenav',
  filter:
    'search searchform searchbox searchbar filter filters facet facets sort sorting refine refinement suche autocomplete typeahead',
  form: 'login signin signup register registration form newsletter subscribe subscription field input fieldset captcha contactform mailchimp optin',
  modal: 'cookie cookies consent gdpr modal popup overlay dialog alertdialog privacy lightbox popover toast paywall',
  action:
    'toolbar action actions button buttons btn control controls edit print icon icons tooltip dropdown editsection noprint copybutton options toggle quickreply',
  hidden: 'hidden hide sr screenreader visually visuallyhidden offscreen collapsed invisible none mobile noscript',
  toc: 'toc tableofcontents outline scrollspy anchors onthispage',
  hero: 'hero title titles headline heading headings jumbotron subtitle subhead kicker lede',
  figure:
    'caption captions credit credits figure image images photo photos img media video slider carousel slide slideshow swiper thumbnail thumb',
  tab: 'faq faqs tab tabs tablist tabpanel accordion panel panels pane collapse section sections block',
  code: 'code highlight highlighter sourcecode prism hljs codeblock snippet console terminal',
} as const;

export type Kind = keyof typeof KIND_WORDS;
/** In the order of their bits; at most 32. */
export const KINDS = Object.keys(KIND_WORDS) as Kind[];

/** Bits of some kinds. */
export const kindBits = (...kinds: readonly Kind[]): number =>
  kinds.reduce((bits, kind) => bits | (1 << KINDS.indexOf(kind)), 0);

const MAX_CHARS = 512;
const WORDS = new WordKinds(
  KINDS.map((kind, index) => [1 << index, KIND_WORDS[kind]]),
  MAX_CHARS,
);

/** Bit set of the element's kinds, bit `i` for `KINDS[i]`. */
export const kindsOfElement = (tree: Tree, node: number): number => kindsIn(tree, node, true);

/** The same of classes and roles alone: the id of a section of documentation says what it is about. */
export const kindsOfClass = (tree: Tree, node: number): number => kindsIn(tree, node, false);

function kindsIn(tree: Tree, node: number, hasId: boolean): number {
  let kinds = 0;
  for (let i = tree.from[node]!, to = tree.to[node]!; i < to; i++) {
    const hash = tree.attrHash[i];
    if (hash !== A.class && hash !== A.role && !(hasId && hash === A.id)) continue;
    kinds |= WORDS.in(tree.source, tree.attrFrom[i]!, tree.attrTo[i]!);
  }
  return kinds;
}
