/** Formulas as TeX: from annotations that renderers leave in the page, or from MathML itself. */
import { A, DROP, type Mask, T, TEXT, type Tree } from '@troupe/html';

const TEX_ENCODING = /tex/i;
const TEX_SCRIPT = /^\s*math\/tex/i;
const DISPLAY_SCRIPT = /mode\s*=\s*display/i;
const KATEX = /(?:^|\s)katex(?:$|\s)/;
const RENDERED = /(?:^|\s)(?:MathJax(?:_Preview|_Display|_SVG|_CHTML)?|MJXc-display|mjx-chtml|katex-html)(?:$|\s)/;
const FORMULA_IMAGE = /(?:^|[\s_-])(?:latex|tex|math)(?:$|[\s_-])/i;
const DISPLAY_STYLE = /^\{\\(?:displaystyle|textstyle)\s*([\s\S]*)\}$/;
const MATH_SPACE = /\s+/g;
const MAX_TEX_CHARS = 20_000;
const RENDERER = /mathjax|katex/i;
const MAX_URL_CHARS = 500;
const MAX_INLINE_TEX = 2000;
const MAX_FORMULA_NODES = 2000;

export interface Formula {
  tex: string;
  isBlock: boolean;
}

/** Formula of a `math`, `.katex` or `mjx-container` element; null when the element is none or says nothing in TeX. */
export function readFormula(tree: Tree, node: number): Formula | null {
  const math = tree.tag[node] === T.math ? node : mathInside(tree, node);
  if (math < 0) return null;
  const tex = cleanTex(annotation(tree, math) ?? tree.attr(math, A.alttext) ?? new MathReader(tree).children(math));
  if (tex === '') return null;
  return { tex, isBlock: tree.attr(math, A.display) === 'block' || isDisplayed(tree, node) };
}

/** Formula that a renderer will make of a `script`; null when it is no formula. */
export function readFormulaScript(tree: Tree, script: number): Formula | null {
  const type = tree.attr(script, A.type);
  if (type === null || !TEX_SCRIPT.test(type.slice(0, 100))) return null;
  const tex = cleanTex(tree.textContent(script));
  return tex === '' ? null : { tex, isBlock: DISPLAY_SCRIPT.test(type.slice(0, 100)) };
}

/** True for an image that a server made of a formula: its `alt` is the source. */
export function isFormulaImage(tree: Tree, img: number): boolean {
  const names = tree.attr(img, A.class);
  return names !== null && FORMULA_IMAGE.test(names.slice(0, 300));
}

/** TeX of such an image; null when there is none or when the formula itself stands beside it. */
export function readFormulaImage(tree: Tree, mask: Mask, img: number): Formula | null {
  const tex = cleanTex(tree.attr(img, A.alt) ?? '');
  const parent = tree.parent[img]!;
  const isDouble = parent > 0 && tree.end[parent]! - parent < MAX_FORMULA_NODES && hasFormula(tree, mask, parent);
  return tex === '' || isDouble ? null : { tex, isBlock: false };
}

/** True when the page holds formulas that a script renders, or rendered. */
export function rendersTex(tree: Tree): boolean {
  if (tree.customTags.includes('mjx-container')) return true;
  const { tag, count } = tree;
  for (let node = 1; node < count; node++) {
    if (tag[node] === T.math || (tag[node] === T.script && isRenderer(tree, node))) return true;
  }
  return false;
}

function isRenderer(tree: Tree, script: number): boolean {
  const src = tree.attr(script, A.src);
  return src === null ? TEX_SCRIPT.test(tree.attr(script, A.type) ?? '') : RENDERER.test(src.slice(0, MAX_URL_CHARS));
}

const TEX_CLOSER: Readonly<Record<string, string>> = { '\\(': '\\)', '\\[': '\\]', $$: '$$' };
const TEX_OPENER = /\\[([]|\$\$/g;

/** Text and formulas of a text with TeX between `\(…\)`, `\[…\]` and `$$…$$`. */
export function splitTex(text: string): (string | Formula)[] {
  const pieces: (string | Formula)[] = [];
  const closerAt: Record<string, number> = {};
  let from = 0;
  for (const found of text.matchAll(TEX_OPENER)) {
    const [opener] = found;
    const start = found.index + 2;
    if (found.index < from) continue;
    if ((closerAt[opener] ?? 0) < start) {
      const at = text.indexOf(TEX_CLOSER[opener]!, start);
      closerAt[opener] = at < 0 ? Infinity : at;
    }
    const end = closerAt[opener]!;
    const tex = end - start > MAX_INLINE_TEX ? '' : cleanTex(text.slice(start, end));
    if (tex === '') continue;
    pieces.push(text.slice(from, found.index), { tex, isBlock: opener !== '\\(' });
    from = end + 2;
  }
  pieces.push(text.slice(from));
  return pieces;
}

export function isFormulaElement(tree: Tree, node: number): boolean {
  if (tree.tag[node] === T.span) return KATEX.test(tree.attr(node, A.class) ?? '');
  return tree.name(node) === 'mjx-container';
}

/** Glyphs that a renderer put beside the source of a formula. */
export function isRenderedFormula(tree: Tree, node: number): boolean {
  const names = tree.attr(node, A.class);
  return names !== null && names.length < 300 && RENDERED.test(names);
}

/** True when the page holds formulas as scripts. */
export function hasFormulaScripts(tree: Tree, mask: Mask): boolean {
  for (let node = 1; node < tree.count; node++) {
    if (tree.tag[node] !== T.script || mask[node] !== DROP) continue;
    if (TEX_SCRIPT.test((tree.attr(node, A.type) ?? '').slice(0, 100))) return true;
  }
  return false;
}

function hasFormula(tree: Tree, mask: Mask, root: number): boolean {
  for (let node = root + 1, end = tree.end[root]!; node < end; node++) {
    if (mask[node] === DROP) node = tree.end[node]! - 1;
    else if (tree.tag[node] === T.math) return true;
  }
  return false;
}

function mathInside(tree: Tree, root: number): number {
  for (let node = root + 1, end = tree.end[root]!; node < end; node++) if (tree.tag[node] === T.math) return node;
  return -1;
}

function annotation(tree: Tree, math: number): string | null {
  for (let node = math + 1, end = tree.end[math]!; node < end; node++) {
    if (tree.attrIndex(node, A.encoding) < 0 || tree.tag[node] === TEXT) continue;
    if (TEX_ENCODING.test(tree.attr(node, A.encoding)!)) return tree.textContent(node);
  }
  return null;
}

function isDisplayed(tree: Tree, node: number): boolean {
  if (tree.attr(node, A.display) === 'true') return true;
  const parent = tree.parent[node]!;
  return parent > 0 && /(?:^|\s)katex-display(?:$|\s)/.test(tree.attr(parent, A.class) ?? '');
}

function cleanTex(raw: string): string {
  if (raw.length > MAX_TEX_CHARS) return '';
  const tex = raw.replace(MATH_SPACE, ' ').trim();
  const inner = DISPLAY_STYLE.exec(tex)?.[1]?.trim() ?? tex;
  return inner.replace(/(?<!\\)\$/g, '');
}

const OPERATORS: Readonly<Record<string, string>> = {
  '∑': '\\sum',
  '∏': '\\prod',
  '∫': '\\int',
  '∞': '\\infty',
  '≤': '\\le',
  '≥': '\\ge',
  '≠': '\\ne',
  '±': '\\pm',
  '×': '\\times',
  '⋅': '\\cdot',
  '·': '\\cdot',
  '→': '\\to',
  '∈': '\\in',
  '∂': '\\partial',
  '√': '\\sqrt',
  '≈': '\\approx',
  '−': '-',
  '{': '\\{',
  '}': '\\}',
  '%': '\\%',
  '#': '\\#',
  '&': '\\&',
  '⁢': '',
  '⁡': '',
  '⁣': ' ',
  '∣': '|',
  α: '\\alpha',
  β: '\\beta',
  γ: '\\gamma',
  δ: '\\delta',
  ε: '\\epsilon',
  θ: '\\theta',
  λ: '\\lambda',
  μ: '\\mu',
  π: '\\pi',
  ρ: '\\rho',
  σ: '\\sigma',
  τ: '\\tau',
  φ: '\\phi',
  ψ: '\\psi',
  ω: '\\omega',
  Δ: '\\Delta',
  Σ: '\\Sigma',
  Ω: '\\Omega',
};

/** MathML without an annotation, as far as TeX has a plain word for it; the rest is read as a row. */
class MathReader {
  constructor(private readonly tree: Tree) {}

  children(parent: number): string {
    return this.parts(parent).join(' ');
  }

  private parts(parent: number): string[] {
    const { tree } = this;
    const parts: string[] = [];
    for (let child = parent + 1, to = tree.end[parent]!; child < to; child = tree.end[child]!) {
      if (tree.tag[child] === TEXT) continue;
      const name = tree.name(child);
      if (name.startsWith('annotation')) continue;
      const part = this.element(child, name);
      if (part !== '') parts.push(part);
    }
    return parts;
  }

  private element(node: number, name: string): string {
    switch (name) {
      case 'mi':
      case 'mn':
      case 'mo':
        return this.token(node);
      case 'mtext':
      case 'ms':
        return `\\text{${this.tree.textContent(node).trim()}}`;
      case 'mfrac':
        return this.apply(node, (a, b) => `\\frac{${a}}{${b}}`);
      case 'msup':
        return this.apply(node, (a, b) => `${group(a)}^{${b}}`);
      case 'msub':
        return this.apply(node, (a, b) => `${group(a)}_{${b}}`);
      case 'munder':
        return this.apply(node, (a, b) => `${group(a)}_{${b}}`);
      case 'mover':
        return this.apply(node, (a, b) => `\\overset{${b}}{${a}}`);
      case 'msubsup':
      case 'munderover':
        return this.apply(node, (a, b, c) => `${group(a)}_{${b}}^{${c}}`);
      case 'msqrt':
        return `\\sqrt{${this.children(node)}}`;
      case 'mroot':
        return this.apply(node, (a, b) => `\\sqrt[${b}]{${a}}`);
      case 'mtable':
        return `\\begin{matrix}${this.parts(node).join(' \\\\ ')}\\end{matrix}`;
      case 'mtr':
        return this.parts(node).join(' & ');
      case 'mfenced':
        return `(${this.parts(node).join(', ')})`;
      default:
        return this.children(node);
    }
  }

  private token(node: number): string {
    const text = this.tree.textContent(node).trim();
    const known = OPERATORS[text];
    if (known !== undefined) return known;
    return text.length > 1 && /^[a-z]+$/i.test(text) ? `\\operatorname{${text}}` : text;
  }

  private apply(node: number, write: (a: string, b: string, c: string) => string): string {
    const [a = '', b = '', c = ''] = this.parts(node);
    return write(a, b, c);
  }
}

function group(text: string): string {
  return text.length === 1 || /^\\[a-z]+$/i.test(text) ? text : `{${text}}`;
}
