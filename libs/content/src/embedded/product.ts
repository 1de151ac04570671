/** The product that a page is about, as JSON-LD describes it. */
import { isObject, ldText, listOf, type LdGraph, type LdObject } from '../metadata/json-ld.js';
import { richText } from './rich-text.js';

export interface EmbeddedProduct {
  readonly name: string;
  /** HTML, '' when there is none. */
  readonly description: string;
  /** Brand, price, rating and the like: label and value. */
  readonly facts: readonly (readonly [string, string])[];
  /** `additionalProperty` and the like: label and value. */
  readonly specifications: readonly (readonly [string, string])[];
  readonly reviews: readonly EmbeddedReview[];
}

export interface EmbeddedReview {
  readonly author: string;
  readonly text: string;
}

const PRODUCT_TYPES: ReadonlySet<string> = new Set([
  'product',
  'productgroup',
  'individualproduct',
  'vehicle',
  'car',
  'book',
]);
const OWN_ROLES: ReadonlySet<string> = new Set(['', 'mainentity', 'mainentityofpage', 'about']);
const SPECIFICATIONS = ['color', 'size', 'material', 'weight', 'width', 'height', 'depth', 'model', 'pattern'] as const;
const MAX_SPECIFICATIONS = 80;
const MAX_REVIEWS = 10;
const MAX_VALUE_CHARS = 500;

/** The page's own product, null when there is none or several (then it is a list). */
export function readProduct({ items }: LdGraph): EmbeddedProduct | null {
  const own = items.filter(({ types, role }) => OWN_ROLES.has(role) && types.some((type) => PRODUCT_TYPES.has(type)));
  const names = new Set(own.map(({ object }) => ldText(object['name'])));
  const object = own[0]?.object;
  if (object === undefined || names.size > 1) return null;
  return {
    name: ldText(object['name']),
    description: richText(object['description']),
    facts: factsOf(object),
    specifications: specificationsOf(object),
    reviews: reviewsOf(object),
  };
}

function factsOf(product: LdObject): [string, string][] {
  const facts: [string, string][] = [
    ['Brand', nameOf(product['brand'])],
    ['SKU', ldText(product['sku'])],
    ['Price', priceOf(product['offers'])],
    ['Rating', ratingOf(product['aggregateRating'])],
  ];
  return facts.filter(([, value]) => value !== '' && value.length < MAX_VALUE_CHARS);
}

function nameOf(value: unknown): string {
  const first = listOf(value)[0];
  return isObject(first) ? ldText(first['name']) : ldText(first);
}

/** `12.00 EUR`, or `10 – 20 EUR` of an aggregate offer. */
function priceOf(value: unknown): string {
  const offer = listOf(value)[0];
  if (!isObject(offer)) return '';
  const specification = listOf(offer['priceSpecification'])[0];
  const inner = isObject(specification) ? specification : offer;
  const low = ldText(offer['lowPrice']);
  const high = ldText(offer['highPrice']);
  const range = low !== '' && high !== '' && low !== high ? `${low} – ${high}` : low;
  const price = ldText(offer['price']) || ldText(inner['price']) || range;
  return price === '' ? '' : `${price} ${ldText(offer['priceCurrency']) || ldText(inner['priceCurrency'])}`.trim();
}

function ratingOf(value: unknown): string {
  const rating = listOf(value)[0];
  if (!isObject(rating)) return '';
  const stars = ldText(rating['ratingValue']);
  const count = ldText(rating['reviewCount']) || ldText(rating['ratingCount']);
  return stars === '' || count === '' ? stars : `${stars} (${count})`;
}

function specificationsOf(product: LdObject): [string, string][] {
  const found: [string, string][] = [];
  for (const property of listOf(product['additionalProperty']).slice(0, MAX_SPECIFICATIONS)) {
    if (isObject(property)) found.push([ldText(property['name']), valueOf(property)]);
  }
  for (const key of SPECIFICATIONS) found.push([key[0]!.toUpperCase() + key.slice(1), measureOf(product[key])]);
  return found.filter(([label, value]) => label !== '' && value !== '' && value.length < MAX_VALUE_CHARS);
}

function valueOf(property: LdObject): string {
  return [ldText(property['value']), ldText(property['unitText'])].filter((text) => text !== '').join(' ');
}

function measureOf(value: unknown): string {
  return isObject(value) ? valueOf(value) || ldText(value['name']) : ldText(value);
}

function reviewsOf(product: LdObject): EmbeddedReview[] {
  return listOf(product['review'])
    .slice(0, MAX_REVIEWS)
    .filter(isObject)
    .map((review) => ({
      author: nameOf(review['author']),
      text: ldText(review['reviewBody'] ?? review['description']),
    }))
    .filter(({ text }) => text !== '');
}
