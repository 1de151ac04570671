/** The part of the browser's interface that the evidence needs, since the rest of the project compiles without the DOM's types. */

export interface PageStyle {
  getPropertyValue(name: string): string;
}

export interface PageRect {
  top: number;
  left: number;
  width: number;
  height: number;
}

export interface PageNode {
  readonly nodeType: number;
  readonly nodeValue: string | null;
}

export interface PageElement extends PageNode {
  readonly localName: string;
  readonly parentElement: PageElement | null;
  readonly children: ArrayLike<PageElement> & Iterable<PageElement>;
  readonly childNodes: Iterable<PageNode>;
  readonly shadowRoot: { readonly children: Iterable<PageElement> } | null;
  readonly textContent: string;
  readonly attributes: Iterable<{ name: string; value: string }>;
  readonly outerHTML: string;
  readonly currentSrc?: string;
  readonly src?: string;
  readonly href?: string;
  readonly id: string;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  getBoundingClientRect(): PageRect;
  checkVisibility(options: object): boolean;
  closest(selector: string): PageElement | null;
  matches(selector: string): boolean;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): ArrayLike<PageElement> & Iterable<PageElement>;
  cloneNode(deep: boolean): PageElement;
  append(child: PageElement): void;
  remove(): void;
  computedStyleMap(): Iterable<[name: string, values: ArrayLike<{ toString(): string }>]>;
  getAnimations(): { finish(): void }[];
}

export interface PageDocument {
  readonly documentElement: PageElement;
  readonly body: PageElement | null;
  readonly title: string;
  readonly baseURI: string;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): ArrayLike<PageElement> & Iterable<PageElement>;
  createElementNS(namespace: string, name: string): PageElement;
  getElementById(id: string): PageElement | null;
}

export interface PageCanvas {
  getContext(
    kind: '2d',
    options: object,
  ): {
    fillStyle: string;
    clearRect(x: number, y: number, width: number, height: number): void;
    fillRect(x: number, y: number, width: number, height: number): void;
    getImageData(x: number, y: number, width: number, height: number): { data: ArrayLike<number> };
  };
}

export interface PageWindow {
  readonly innerWidth: number;
  readonly innerHeight: number;
  readonly scrollX: number;
  readonly scrollY: number;
  readonly CSS: { supports(property: string, value: string): boolean };
  readonly OffscreenCanvas: new (width: number, height: number) => PageCanvas;
  getComputedStyle(element: PageElement): PageStyle;
}
