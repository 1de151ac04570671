/**
 * A shop on loopback whose products are known: every list page has two of its own and one that the next page has, too, so
 * facts of several pages have to become one list. Every folder is a shop of its own.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startSite, type Site } from '@troupe/testing';

export interface Product {
  name: string;
  sku: string;
  price: number;
}

export const PRODUCTS_SCHEMA = {
  type: 'object',
  properties: {
    products: {
      type: 'array',
      items: {
        type: 'object',
        properties: { name: { type: 'string' }, sku: { type: 'string' }, price: { type: 'number' } },
        required: ['name', 'sku'],
      },
    },
  },
  required: ['products'],
};

const OWN_PRODUCTS = 2;

export class ShopSite {
  /** Delay of each answer; may be changed while the site runs. */
  latencyMs = 0;

  private constructor(
    private readonly site: Site,
    private readonly lists: number,
  ) {}

  static async start(lists: number): Promise<ShopSite> {
    const site = await startSite((request, response) => {
      void sleep(shop.latencyMs).then(() => {
        const html = shop.pageAt(request.url ?? '/');
        response.writeHead(html === null ? 404 : 200, { 'content-type': 'text/html' });
        response.end(html ?? '<html><body><h1>Not here</h1></body></html>');
      });
    });
    const shop: ShopSite = new ShopSite(site, lists);
    return shop;
  }

  get port(): number {
    return this.site.port;
  }

  url(path: string): string {
    return `${this.site.origin}${path}`;
  }

  list(folder: string, i: number): string {
    return this.url(`/${folder}/list/${i}`);
  }

  /** Requests for pages of a folder, in order. */
  hits(folder: string): string[] {
    return this.site.log.map((line) => line.split(' ')[1]!).filter((path) => path.split('/')[1] === folder);
  }

  /** Pages of a shop: its front, its lists and one that sells nothing. */
  pages(folder: string): string[] {
    const lists = Array.from({ length: this.lists }, (_, i) => this.list(folder, i));
    return [this.url(`/${folder}`), ...lists, this.url(`/${folder}/about`)];
  }

  /** All of a shop, or of some of its lists, in the order of the lists. */
  products(lists = Array.from({ length: this.lists }, (_, i) => i)): Product[] {
    const all = lists.flatMap((i) => this.listed(i));
    return [...new Map(all.map((product) => [product.sku, product])).values()];
  }

  close(): Promise<void> {
    return this.site.close();
  }

  private listed(i: number): Product[] {
    const shared = ((i + 1) % this.lists) * OWN_PRODUCTS;
    return [i * OWN_PRODUCTS, i * OWN_PRODUCTS + 1, shared].map(productOf);
  }

  private pageAt(path: string): string | null {
    const [, folder = '', kind, n] = path.split('?')[0]!.split('/');
    if (folder === '' || folder.includes('.')) return null;
    if (kind === undefined || kind === '') return this.front(folder);
    if (kind === 'about') return html('About us', '<p>We have been here since 1950 and like what we do.</p>');
    const i = Number(n);
    return kind === 'list' && i < this.lists ? html(`List ${i}`, tableOf(this.listed(i))) : null;
  }

  private front(folder: string): string {
    const links = this.pages(folder).map((url) => `<li><a href="${new URL(url).pathname}">A page of ours</a></li>`);
    return html('Welcome', `<p>This is the front of the shop.</p><ul>${links.join('')}</ul>`);
  }
}

function productOf(i: number): Product {
  return { name: `Lamp ${i}`, sku: `L-${i}`, price: 10 + i / 2 };
}

function tableOf(products: readonly Product[]): string {
  const rows = products.map(({ name, sku, price }) => `<tr><td>${name}</td><td>${sku}</td><td>${price}</td></tr>`);
  return `<table><thead><tr><th>Name</th><th>SKU</th><th>Price</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

function html(title: string, body: string): string {
  return `<!doctype html><html><head><title>${title}</title></head><body><main><h1>${title}</h1>${body}</main></body></html>`;
}
