/**
 * The product that a page is about, by rules: nothing is invented, and fields of different items are never mixed. The first
 * source that tells of one product tells all of it. Data about several products give no product.
 */
import type { FormatKind } from './format-kind.js';
import type { DataItem, PageData } from './page-data.js';
import { flag, listOf, number, object, text, type Schema } from './schema-parts.js';

interface Price {
  amount: number;
  /** Only when the page says it. */
  currency?: string;
  /** As the page writes it. */
  formatted?: string;
}

interface Variant {
  id?: string;
  sku?: string;
  title?: string;
  values?: Record<string, string>;
  price?: Price;
  sale?: { originalPrice: Price };
  availability: { inStock: boolean; text?: string };
  images?: { url: string; alt?: string }[];
}

interface Product {
  title: string;
  url: string;
  brand?: string;
  category?: string;
  description?: string;
  variants: Variant[];
}

type Item = Readonly<Record<string, unknown>>;

const price = object({ amount: number, 'currency?': text, 'formatted?': text });
const variant: Schema = object({
  'id?': text,
  'sku?': text,
  'title?': text,
  'values?': { type: 'object', additionalProperties: text },
  'price?': price,
  'sale?': object({ originalPrice: price }),
  availability: object({ inStock: flag, 'text?': text }),
  'images?': listOf(object({ url: { type: 'string', format: 'uri' }, 'alt?': text })),
});

export const product: FormatKind = {
  name: 'product',
  madeBy: 'converter',
  answers: {
    product: object({
      title: text,
      url: { type: 'string', format: 'uri' },
      'brand?': text,
      'category?': text,
      'description?': text,
      variants: listOf(variant),
    }),
  },
  ofWholePage: true,
  write: (page) => {
    const data = page.data();
    const found = data === undefined ? null : readProduct(data);
    if (found === null) page.warn(NO_PRODUCT);
    return found ?? undefined;
  },
};

const NO_PRODUCT = 'No product was found in the data of the page.';
const MAX_VARIANTS = 200;
const MAX_IMAGES = 20;
const MAX_VALUES = 40;
const MAX_CHARS = 500;
const MAX_DESCRIPTION_CHARS = 10_000;
const MAX_DEPTH = 24;
const MAX_OBJECTS = 20_000;

function readProduct(data: PageData): Product | null {
  return (
    marked(data, data.jsonLd()) ??
    marked(data, data.microdata()) ??
    marked(data, data.rdfa()) ??
    ofState(data) ??
    pushed(data) ??
    ofMetas(data)
  );
}

// ---- JSON-LD, microdata, RDFa

const PRODUCTS = new Set(['product', 'individualproduct', 'productmodel', 'vehicle', 'car', 'book']);
const OWN_ROLES = new Set(['', 'mainentity', 'mainentityofpage', 'about']);
const VARYING = ['color', 'size', 'material', 'pattern'];
const IN_STOCK = /^(?:instock|instoreonly|onlineonly|limitedavailability|madetoorder|available|availablefororder)$/;
const NOT_IN_STOCK =
  /^(?:outofstock|soldout|discontinued|preorder|presale|backorder|reserved|oos|unavailable|notavailable)$/;

function marked(data: PageData, items: readonly DataItem[]): Product | null {
  const own = items.filter(({ role }) => OWN_ROLES.has(role));
  const groups = own.filter(({ types }) => types.includes('productgroup'));
  const single = own.filter(({ types }) => types.some((type) => PRODUCTS.has(type)));
  if (groups.length > 1) return null;
  const [group] = groups;
  if (group !== undefined) return ofGroup(data, group.object, single);
  const [first] = single;
  const names = new Set(single.map(({ object: item }) => textOf(item['name'])));
  return first === undefined || names.size > 1 ? null : ofItem(data, first.object, offersOf(data, first.object));
}

function ofGroup(data: PageData, group: Item, products: readonly DataItem[]): Product | null {
  const others = products.map(({ object: item }) => item).filter((item) => isVariantOf(data, item, group));
  const variants = [...new Set([...itemsOf(data, group['hasVariant']), ...others])];
  if (variants.length === 0) return ofItem(data, group, offersOf(data, group));
  return shaped(
    data,
    group,
    variants.map((item) => ({ item, offer: offersOf(data, item)[0] ?? {} })),
  );
}

function isVariantOf(data: PageData, item: Item, group: Item): boolean {
  const [id, own] = [textOf(group['productGroupID']), textOf(group['@id'])];
  if (id !== '' && textOf(item['inProductGroupWithID']) === id) return true;
  return asList(item['isVariantOf']).some((parent) => {
    const at = isObject(parent) ? textOf(parent['@id']) : textOf(parent);
    return (own !== '' && at === own) || (isObject(parent) && id !== '' && textOf(parent['productGroupID']) === id);
  });
}

/** A product by itself: one variant, or one for each offer that is an article of its own. */
function ofItem(data: PageData, item: Item, offers: readonly Item[]): Product | null {
  const articles = new Set(offers.map(({ sku }) => textOf(sku)));
  const isEach = offers.length > 1 && articles.size === offers.length && !articles.has('');
  const sold = isEach ? offers : [offers.find((offer) => stockOf(offer) !== null) ?? offers[0] ?? {}];
  return shaped(
    data,
    item,
    sold.map((offer) => ({ item: isEach ? { image: item['image'], ...offer } : item, offer })),
  );
}

/** The offers themselves; of an aggregate without any the aggregate, whose price is one only when its ends are the same. */
function offersOf(data: PageData, item: Item): Item[] {
  return itemsOf(data, item['offers']).flatMap((offer) => {
    const inner = itemsOf(data, offer['offers']);
    if (inner.length > 0) return inner.map((one) => ({ priceCurrency: offer['priceCurrency'], ...one }));
    const isOnePrice = textOf(offer['lowPrice']) === textOf(offer['highPrice']);
    return [isOnePrice && offer['price'] === undefined ? { ...offer, price: offer['lowPrice'] } : offer];
  });
}

function shaped(data: PageData, item: Item, sold: readonly { item: Item; offer: Item }[]): Product | null {
  const title = textOf(item['name']);
  if (title === '') return null;
  return {
    title,
    url: addressOf(data, item['url']) ?? data.url,
    ...told('brand', nameOf(item['brand'])),
    ...told('category', nameOf(item['category'])),
    ...told('description', plain(item['description'])),
    variants: sold.slice(0, MAX_VARIANTS).flatMap(({ item: article, offer }) => variantOf(data, article, offer) ?? []),
  };
}

/** null: whether it is in stock is not known, and not guessed. */
function variantOf(data: PageData, item: Item, offer: Item): Variant | null {
  const availability = stockOf(offer) ?? stockOf(item);
  if (availability === null) return null;
  const values = valuesOf(item);
  const images = imagesOf(data, item['image']);
  return {
    ...told('id', textOf(item['productID']) || textOf(item['@id'])),
    ...told('sku', textOf(item['sku']) || textOf(offer['sku'])),
    ...told('title', textOf(item['name'])),
    ...(Object.keys(values).length === 0 ? {} : { values }),
    ...pricesOf(data, offer),
    availability,
    ...(images.length === 0 ? {} : { images }),
  };
}

function stockOf({ availability }: Item): Variant['availability'] | null {
  const said = nameOf(availability).replace(/^.*[/:#]/, '');
  const word = said.toLowerCase().replace(/[^a-z]/g, '');
  if (IN_STOCK.test(word)) return { inStock: true, text: said };
  return NOT_IN_STOCK.test(word) ? { inStock: false, text: said } : null;
}

/** A list price stands in a specification of its own (schema.org, `StrikethroughPrice`). */
function pricesOf(data: PageData, offer: Item): Pick<Variant, 'price' | 'sale'> {
  const specified = itemsOf(data, offer['priceSpecification']);
  const isListPrice = ({ priceType }: Item): boolean => /strikethrough|listprice|msrp|srp/i.test(textOf(priceType));
  const plainly = specified.find((one) => !isListPrice(one));
  const list = specified.find(isListPrice);
  const currency = offer['priceCurrency'] ?? plainly?.['priceCurrency'] ?? list?.['priceCurrency'];
  const now = priceOf(data, offer['price'] ?? plainly?.['price'], currency);
  const before = priceOf(data, list?.['price'], list?.['priceCurrency'] ?? currency);
  return withSale(now, before);
}

/** A price that is no higher than today's is no original price. */
function withSale(now: Price | null, before: Price | null): Pick<Variant, 'price' | 'sale'> {
  if (now === null) return {};
  const isSale = before !== null && before.amount > now.amount && before.currency === now.currency;
  return { price: now, ...(isSale ? { sale: { originalPrice: before } } : {}) };
}

const PLAIN_NUMBER = /^\d{1,12}(?:\.\d{1,6})?$/;

/** Data have a dot before the fraction; a text beside a number is read as the page's language writes numbers. */
function priceOf(data: PageData, value: unknown, currency: unknown): Price | null {
  const said = textOf(value);
  const isPlain = PLAIN_NUMBER.test(said);
  const amount = isPlain ? Number(said) : data.numberIn(said);
  if (amount === null || !(amount >= 0)) return null;
  const code = textOf(currency).toUpperCase();
  return {
    amount,
    ...(/^[A-Z]{3}$/.test(code) ? { currency: code } : {}),
    ...(isPlain || typeof value === 'number' ? {} : { formatted: said }),
  };
}

function valuesOf(item: Item): Record<string, string> {
  const properties = asList(item['additionalProperty']).filter(isObject);
  const pairs = [
    ...VARYING.map((name) => [name, nameOf(item[name])] as const),
    ...properties.map(({ name, value }) => [textOf(name), nameOf(value)] as const),
  ];
  const known = pairs.filter(([name, value]) => name !== '' && value !== '' && name !== '__proto__');
  return Object.fromEntries(known.slice(0, MAX_VALUES));
}

function imagesOf(data: PageData, value: unknown): { url: string; alt?: string }[] {
  const images = asList(value).flatMap((image) => {
    const from = isObject(image) ? image : { url: image };
    const url = addressOf(data, from['contentUrl'] ?? from['url'] ?? from['src']);
    return url === null ? [] : [{ url, ...told('alt', textOf(from['alt'] ?? from['altText'] ?? from['caption'])) }];
  });
  return images.slice(0, MAX_IMAGES);
}

// ---- State of applications

const NAMES = ['name', 'title', 'productName', 'displayName'];
const BRANDS = ['brand', 'vendor', 'manufacturer', 'brandName'];
const CATEGORIES = ['category', 'productType', 'product_type'];
const DESCRIPTIONS = ['description', 'body_html', 'descriptionHtml'];
const PRICES = ['price', 'currentPrice', 'salePrice', 'finalPrice'];
const ORIGINALS = ['compare_at_price', 'compareAtPrice', 'originalPrice', 'listPrice', 'regularPrice', 'wasPrice'];
const STOCKS = ['availableForSale', 'available', 'inStock', 'isInStock', 'in_stock', 'isAvailable', 'availability'];
const VARIANTS = ['variants', 'skus'];
/** Only one shop system writes these, and it counts in hundredths. */
const IN_HUNDREDTHS = ['price_varies', 'compare_at_price_varies'];

/** The first object that bears the name of the page and has a price or variants. */
function ofState(data: PageData): Product | null {
  const subject = wordsOf(data.metas().get('og:title')?.[0] ?? data.title ?? '');
  if (subject === '') return null;
  const search = { left: MAX_OBJECTS, subject };
  for (const state of data.states()) {
    const found = findProduct(state, search, 0);
    if (found !== null) return stateProduct(data, found);
  }
  return null;
}

function findProduct(value: unknown, search: { left: number; subject: string }, depth: number): Item | null {
  if (depth > MAX_DEPTH || typeof value !== 'object' || value === null || search.left-- <= 0) return null;
  if (isObject(value) && isSubject(value, search.subject)) return value;
  for (const inner of Object.values(value)) {
    const found = findProduct(inner, search, depth + 1);
    if (found !== null) return found;
  }
  return null;
}

function isSubject(item: Item, subject: string): boolean {
  const name = wordsOf(firstText(item, NAMES));
  const isNamed = name.length > 2 && ` ${subject} `.startsWith(` ${name} `);
  return isNamed && (first(item, PRICES) !== undefined || entriesOf(first(item, VARIANTS)).some(isObject));
}

function stateProduct(data: PageData, found: Item): Product | null {
  const inner = entriesOf(first(found, VARIANTS)).filter(isObject);
  const scale = IN_HUNDREDTHS.some((key) => key in found) ? 100 : 1;
  const articles = inner.length > 0 ? inner : [found];
  const known = {
    name: firstText(found, NAMES),
    url: found['url'],
    brand: first(found, BRANDS),
    category: first(found, CATEGORIES),
    description: first(found, DESCRIPTIONS),
  };
  const whole = shaped(data, known, []);
  if (whole === null) return null;
  const variants = articles.slice(0, MAX_VARIANTS).flatMap((item) => stateVariant(data, item, found, scale) ?? []);
  return { ...whole, variants };
}

function stateVariant(data: PageData, item: Item, owner: Item, scale: number): Variant | null {
  const said = first(item, STOCKS);
  const availability = typeof said === 'boolean' ? { inStock: said } : stockOf({ availability: said });
  if (availability === null) return null;
  const currency = item['currency'] ?? item['currencyCode'] ?? owner['currency'] ?? owner['currencyCode'];
  const images = imagesOf(data, item['images'] ?? item['image'] ?? item['featured_image']);
  return {
    ...told('id', textOf(item['id'])),
    ...told('sku', textOf(item['sku'])),
    ...told('title', firstText(item, NAMES)),
    ...chosen(item['selectedOptions']),
    ...withSale(
      statePrice(data, first(item, PRICES), currency, scale),
      statePrice(data, first(item, ORIGINALS), currency, scale),
    ),
    availability,
    ...(images.length === 0 ? {} : { images }),
  };
}

function chosen(options: unknown): Pick<Variant, 'values'> {
  const values = valuesOf({ additionalProperty: options });
  return Object.keys(values).length === 0 ? {} : { values };
}

function statePrice(data: PageData, value: unknown, currency: unknown, scale: number): Price | null {
  const inner = isObject(value) ? value : { amount: value };
  const price = priceOf(
    data,
    inner['amount'] ?? inner['value'] ?? inner['price'],
    inner['currencyCode'] ?? inner['currency'] ?? currency,
  );
  return price === null || scale === 1 || price.formatted !== undefined
    ? price
    : { ...price, amount: price.amount / scale };
}

// ---- dataLayer and metas

/** The one product that is viewed, as a shop tells it to its statistics. Its stock is not among it. */
function pushed(data: PageData): Product | null {
  for (const push of data.dataLayer().flatMap(asList)) {
    const ecommerce = isObject(push) && isObject(push['ecommerce']) ? push['ecommerce'] : {};
    const detail = isObject(ecommerce['detail']) ? asList(ecommerce['detail']['products']) : [];
    const viewed = isObject(push) && push['event'] === 'view_item' ? asList(ecommerce['items']) : detail;
    const [item] = viewed;
    if (viewed.length !== 1 || !isObject(item)) continue;
    const known = {
      name: item['item_name'] ?? item['name'],
      brand: item['item_brand'] ?? item['brand'],
      category: item['item_category'] ?? item['category'],
    };
    const found = shaped(data, known, []);
    if (found !== null) return found;
  }
  return null;
}

/** OpenGraph, where it names a price. */
function ofMetas(data: PageData): Product | null {
  const metas = data.metas();
  const said = (...names: string[]): string | undefined =>
    names.flatMap((name) => metas.get(`product:${name}`) ?? metas.get(`og:${name}`) ?? [])[0];
  const amount = said('price:amount');
  if (amount === undefined) return null;
  const currency = said('price:currency');
  const reduced = said('sale_price:amount');
  const item = {
    name: metas.get('og:title')?.[0] ?? data.title,
    url: metas.get('og:url')?.[0],
    brand: said('brand'),
    category: said('category'),
    description: metas.get('og:description')?.[0],
    sku: said('retailer_item_id'),
    image: metas.get('og:image'),
  };
  const before = reduced === undefined ? said('original_price:amount') : amount;
  const whole = shaped(data, item, [{ item, offer: { availability: said('availability') } }]);
  const prices = withSale(
    priceOf(data, reduced ?? amount, said('sale_price:currency') ?? currency),
    priceOf(data, before, said('original_price:currency') ?? currency),
  );
  return whole && { ...whole, variants: whole.variants.map((one) => ({ ...one, ...prices })) };
}

// ---- Values

function isObject(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function asList(value: unknown): unknown[] {
  if (Array.isArray(value)) return value as unknown[];
  return value === undefined || value === null ? [] : [value];
}

/** Entries of a list, or of an object whose keys are ids. */
function entriesOf(value: unknown): unknown[] {
  return isObject(value) ? Object.values(value) : asList(value);
}

/** Objects of a value, and those it refers to by their `@id`. */
function itemsOf(data: PageData, value: unknown): Item[] {
  return asList(value)
    .slice(0, MAX_VARIANTS)
    .filter(isObject)
    .map((item) => (Object.keys(item).length === 1 ? (data.byId(textOf(item['@id'])) ?? item) : item));
}

function first(item: Item, keys: readonly string[]): unknown {
  return keys.map((key) => item[key]).find((value) => value !== undefined && value !== null && value !== '');
}

function firstText(item: Item, keys: readonly string[]): string {
  return keys.map((key) => textOf(item[key])).find((value) => value !== '') ?? '';
}

/** '' when it is none. */
function textOf(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return textOf(value[0]);
  if (isObject(value)) return typeof value['@value'] === 'string' ? textOf(value['@value']) : '';
  return typeof value === 'string'
    ? value
        .slice(0, 2 * MAX_CHARS)
        .replace(/\s+/g, ' ')
        .trim()
        .slice(0, MAX_CHARS)
    : '';
}

/** A text, or the name of a thing. */
function nameOf(value: unknown): string {
  const [one] = asList(value);
  return isObject(one) ? textOf(one['name']) || textOf(one) || textOf(one['@id']) : textOf(one);
}

/** Without tags. */
function plain(value: unknown): string {
  const [one] = asList(value);
  if (typeof one !== 'string') return '';
  const words = one.slice(0, MAX_DESCRIPTION_CHARS).replace(/<\/?[a-z][^<>]{0,300}>/gi, ' ');
  return words.replace(/\s+/g, ' ').trim();
}

function addressOf(data: PageData, value: unknown): string | null {
  const said = asList(value)[0];
  const href = typeof said === 'string' ? said.trim() : '';
  const url = href === '' ? null : data.resolve(href);
  return url !== null && /^https?:/.test(url) ? url : null;
}

function wordsOf(value: string): string {
  return (value.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(' ');
}

/** A key only where there is a value. */
function told<K extends string>(key: K, value: string): { [key in K]?: string } {
  return value === '' ? {} : ({ [key]: value } as { [key in K]?: string });
}
