/** Text of an XPath to its steps: the part of XPath 1.0 that picks nodes of a page, without variables and arithmetic. */

export type Axis =
  | 'child'
  | 'descendant'
  | 'descendant-or-self'
  | 'self'
  | 'parent'
  | 'ancestor'
  | 'ancestor-or-self'
  | 'following-sibling'
  | 'preceding-sibling'
  | 'attribute';

/** `*`: any element; `node()`: elements and texts; `text()`: texts; else a name in lower case. */
export type NodeTest = string;

export interface Step {
  axis: Axis;
  test: NodeTest;
  predicates: Expression[];
}

export type Expression =
  | { type: 'or' | 'and'; left: Expression; right: Expression }
  | { type: 'compare'; operator: Operator; left: Expression; right: Expression }
  | { type: 'call'; name: FunctionName; args: Expression[] }
  | { type: 'path'; steps: Step[] }
  | { type: 'text'; value: string }
  | { type: 'number'; value: number };

export type Operator = '=' | '!=' | '<' | '<=' | '>' | '>=';

/** Least and most arguments. */
const FUNCTIONS = {
  contains: [2, 2],
  'starts-with': [2, 2],
  'ends-with': [2, 2],
  'normalize-space': [0, 1],
  'lower-case': [1, 1],
  string: [0, 1],
  'string-length': [0, 1],
  number: [0, 1],
  name: [0, 0],
  count: [1, 1],
  position: [0, 0],
  last: [0, 0],
  not: [1, 1],
  true: [0, 0],
  false: [0, 0],
} as const;
export type FunctionName = keyof typeof FUNCTIONS;

const AXES: ReadonlySet<string> = new Set<Axis>([
  'child',
  'descendant',
  'descendant-or-self',
  'self',
  'parent',
  'ancestor',
  'ancestor-or-self',
  'following-sibling',
  'preceding-sibling',
  'attribute',
]);
const TOKEN =
  /\s*(?:("[^"]*"|'[^']*')|(\d{1,9}(?:\.\d{1,9})?)|(::|\/\/|\.\.|!=|<=|>=|[/.@*[\]()|=<>,])|([\p{L}_][\p{L}\p{N}_-]*))/uy;
const MAX_TOKENS = 500;
const MAX_DEPTH = 16;
const NODE_TYPES: ReadonlySet<string> = new Set(['text', 'node']);
const ANY_NODE: Step = { axis: 'descendant-or-self', test: 'node()', predicates: [] };

/** Paths joined by `|`, all relative to where the search starts. @throws Error that says what is wrong with the text */
export function parseXPath(text: string): Step[][] {
  return new Parser(tokensOf(text)).paths();
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const at = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    if (found === null) throw new Error(`"${text.slice(at, at + 20)}" cannot be read`);
    if (tokens.push(found[0].trim()) > MAX_TOKENS) throw new Error('it is too long');
  }
  return tokens;
}

class Parser {
  private at = 0;
  private depth = 0;

  constructor(private readonly tokens: readonly string[]) {}

  paths(): Step[][] {
    const paths = [this.topPath()];
    while (this.take('|')) paths.push(this.topPath());
    if (this.at < this.tokens.length) throw new Error(`"${this.tokens[this.at]}" was not expected`);
    return paths;
  }

  private topPath(): Step[] {
    if (!['/', '//', '.'].includes(this.next() ?? '')) throw new Error('a path begins with /, // or ./');
    return this.path();
  }

  private path(): Step[] {
    const steps: Step[] = [];
    if (this.take('//')) steps.push(ANY_NODE);
    else this.take('/');
    steps.push(this.step());
    for (;;) {
      if (this.take('//')) steps.push(ANY_NODE);
      else if (!this.take('/')) return shortened(steps);
      steps.push(this.step());
    }
  }

  private step(): Step {
    if (this.take('..')) return { axis: 'parent', test: 'node()', predicates: [] };
    if (this.take('.')) return { axis: 'self', test: 'node()', predicates: [] };
    const axis = this.axis();
    const test = this.nodeTest();
    const predicates: Expression[] = [];
    while (this.take('[')) {
      predicates.push(this.nested(() => this.or()));
      this.expect(']');
    }
    return { axis, test, predicates };
  }

  private axis(): Axis {
    if (this.take('@')) return 'attribute';
    const name = this.next();
    if (this.tokens[this.at + 1] !== '::') return 'child';
    if (name === undefined || !AXES.has(name)) throw new Error(`the axis ${name ?? ''} is not supported`);
    this.at += 2;
    return name as Axis;
  }

  private nodeTest(): NodeTest {
    const name = this.word('a name was expected');
    if (name === '*') return '*';
    if (!NODE_TYPES.has(name) || this.next() !== '(') return name.toLowerCase();
    this.expect('(');
    this.expect(')');
    return `${name}()`;
  }

  private or(): Expression {
    let left = this.and();
    while (this.take('or')) left = { type: 'or', left, right: this.and() };
    return left;
  }

  private and(): Expression {
    let left = this.comparison();
    while (this.take('and')) left = { type: 'and', left, right: this.comparison() };
    return left;
  }

  private comparison(): Expression {
    const left = this.operand();
    const operator = this.next();
    if (!isOperator(operator)) return left;
    this.at++;
    return { type: 'compare', operator, left, right: this.operand() };
  }

  private operand(): Expression {
    const token = this.next();
    if (token === undefined) throw new Error('it ends too early');
    if (token.startsWith('"') || token.startsWith("'")) {
      this.at++;
      return { type: 'text', value: token.slice(1, -1) };
    }
    if (/^\d/.test(token)) {
      this.at++;
      return { type: 'number', value: Number(token) };
    }
    if (this.take('(')) {
      const inner = this.nested(() => this.or());
      this.expect(')');
      return inner;
    }
    if (this.tokens[this.at + 1] === '(' && !NODE_TYPES.has(token)) return this.call(token);
    if (token === '/' || token === '//') throw new Error('a path in a condition begins at the node: write .// instead');
    return { type: 'path', steps: this.path() };
  }

  private call(name: string): Expression {
    if (!Object.hasOwn(FUNCTIONS, name)) throw new Error(`the function ${name}() is not supported`);
    const [least, most] = FUNCTIONS[name as FunctionName];
    this.at += 2;
    const args: Expression[] = [];
    while (!this.take(')')) {
      if (args.length > 0) this.expect(',');
      args.push(this.nested(() => this.or()));
    }
    if (args.length < least || args.length > most)
      throw new Error(`${name}() takes ${least === most ? least : `${least} or ${most}`} arguments`);
    if (name === 'count' && args[0]?.type !== 'path') throw new Error('count() takes a path');
    return { type: 'call', name: name as FunctionName, args };
  }

  private nested<T>(read: () => T): T {
    if (++this.depth > MAX_DEPTH) throw new Error('it is nested too deeply');
    const result = read();
    this.depth--;
    return result;
  }

  private next(): string | undefined {
    return this.tokens[this.at];
  }

  private take(token: string): boolean {
    if (this.tokens[this.at] !== token) return false;
    this.at++;
    return true;
  }

  private expect(token: string): void {
    if (!this.take(token)) throw new Error(`"${token}" was expected instead of "${this.next() ?? 'the end'}"`);
  }

  private word(otherwise: string): string {
    const token = this.next();
    if (token === undefined || !/^(?:\*|[\p{L}_])/u.test(token)) throw new Error(otherwise);
    this.at++;
    return token;
  }
}

function isOperator(token: string | undefined): token is Operator {
  return token !== undefined && ['=', '!=', '<', '<=', '>', '>='].includes(token);
}

/** `//name` in one step, where no condition counts places among siblings. */
function shortened(steps: readonly Step[]): Step[] {
  const short: Step[] = [];
  for (const step of steps) {
    const isJoined = short.at(-1) === ANY_NODE && step.axis === 'child' && !step.predicates.some(countsPlaces);
    if (isJoined) short[short.length - 1] = { ...step, axis: 'descendant' };
    else short.push(step);
  }
  return short;
}

/** Whether a condition is about a node's place among those of its step. */
export function countsPlaces(expression: Expression): boolean {
  return isNumeric(expression) || asksPlace(expression);
}

function isNumeric(expression: Expression): boolean {
  if (expression.type === 'number') return true;
  return (
    expression.type === 'call' && ['position', 'last', 'count', 'string-length', 'number'].includes(expression.name)
  );
}

function asksPlace(expression: Expression): boolean {
  switch (expression.type) {
    case 'or':
    case 'and':
    case 'compare':
      return asksPlace(expression.left) || asksPlace(expression.right);
    case 'call':
      return expression.name === 'position' || expression.name === 'last' || expression.args.some(asksPlace);
    default:
      return false;
  }
}
