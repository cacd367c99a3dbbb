/**
 * Functions given inline. Only their text reaches the thread, so a variable of the surrounding code would be missing
 * there, or worse, be another one of the same name. So the text is parsed and every name in it resolved; a function
 * that needs anything from outside is refused with an error that names what it needs.
 */
import { runInNewContext } from 'node:vm'
import { parse } from 'acorn'
import { PgParallelError } from '../errors'

interface Node {
  readonly type: string
  readonly [key: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'

/** Names that exist on every thread without being declared. */
const NODE_GLOBALS =
  'require process Buffer console global globalThis queueMicrotask structuredClone atob btoa fetch performance crypto ' +
  'navigator setTimeout clearTimeout setInterval clearInterval setImmediate clearImmediate AbortController ' +
  'AbortSignal Blob BroadcastChannel ByteLengthQueuingStrategy CompressionStream CountQueuingStrategy Crypto ' +
  'CryptoKey CustomEvent DecompressionStream DOMException Event EventTarget File FormData Headers MessageChannel ' +
  'MessageEvent MessagePort Performance PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserver ' +
  'ReadableStream ReadableByteStreamController ReadableStreamBYOBReader ReadableStreamBYOBRequest ' +
  'ReadableStreamDefaultController ReadableStreamDefaultReader Request Response SubtleCrypto TextDecoder ' +
  'TextDecoderStream TextEncoder TextEncoderStream TransformStream TransformStreamDefaultController URL ' +
  'URLSearchParams WebAssembly WebSocket WritableStream WritableStreamDefaultController WritableStreamDefaultWriter'
const GLOBALS = new Set<string>([
  ...(runInNewContext('Object.getOwnPropertyNames(globalThis)') as string[]),
  ...NODE_GLOBALS.split(' '),
])

/** Names declared in one function or block. */
class Scope {
  readonly names = new Set<string>()
  readonly parent: Scope | undefined
  /** `var` and `this` belong to the nearest of these. */
  readonly isFunction: boolean

  constructor(parent: Scope | undefined, isFunction: boolean) {
    this.parent = parent
    this.isFunction = isFunction
  }

  has(name: string): boolean {
    return this.names.has(name) || (this.parent?.has(name) ?? false)
  }
}

/** Finds names that nothing inside declares. */
class FreeVariables {
  readonly found = new Set<string>()

  /** Names that a pattern binds: `{ a, b: [c = 1], ...d }`. */
  #bind(pattern: unknown, scope: Scope): void {
    if (!isNode(pattern)) return
    switch (pattern.type) {
      case 'Identifier':
        scope.names.add(pattern['name'] as string)
        return
      case 'ObjectPattern':
        for (const property of pattern['properties'] as Node[]) {
          this.#bind(property.type === 'RestElement' ? property : property['value'], scope)
        }
        return
      case 'ArrayPattern':
        for (const element of pattern['elements'] as unknown[]) this.#bind(element, scope)
        return
      case 'AssignmentPattern':
        this.#bind(pattern['left'], scope)
        return
      case 'RestElement':
        this.#bind(pattern['argument'], scope)
    }
  }

  /** Expressions inside a pattern: defaults and computed keys. */
  #patternExpressions(pattern: unknown, scope: Scope): void {
    if (!isNode(pattern)) return
    switch (pattern.type) {
      case 'ObjectPattern':
        for (const property of pattern['properties'] as Node[]) {
          if (property['computed'] === true) this.#visit(property['key'], scope)
          this.#patternExpressions(property.type === 'RestElement' ? property['argument'] : property['value'], scope)
        }
        return
      case 'ArrayPattern':
        for (const element of pattern['elements'] as unknown[]) this.#patternExpressions(element, scope)
        return
      case 'AssignmentPattern':
        this.#patternExpressions(pattern['left'], scope)
        this.#visit(pattern['right'], scope)
        return
      case 'RestElement':
        this.#patternExpressions(pattern['argument'], scope)
        return
      case 'MemberExpression':
        this.#visit(pattern, scope)
    }
  }

  /** `var` and function declarations anywhere in a function's body, but not in functions inside it. */
  #hoist(node: unknown, scope: Scope): void {
    if (Array.isArray(node)) {
      for (const one of node) this.#hoist(one, scope)
      return
    }
    if (!isNode(node)) return
    if (node.type === 'VariableDeclaration' && node['kind'] === 'var') {
      for (const declarator of node['declarations'] as Node[]) this.#bind(declarator['id'], scope)
    }
    if (/Function|^Class/.test(node.type)) return
    for (const value of Object.values(node)) if (typeof value === 'object') this.#hoist(value, scope)
  }

  /** `let`, `const`, `class` and functions declared directly in a block. */
  #declare(statements: readonly unknown[], scope: Scope): void {
    for (const statement of statements) {
      if (!isNode(statement)) continue
      if (statement.type === 'FunctionDeclaration' || statement.type === 'ClassDeclaration') {
        this.#bind(statement['id'], scope)
      } else if (statement.type === 'VariableDeclaration' && statement['kind'] !== 'var') {
        for (const declarator of statement['declarations'] as Node[]) this.#bind(declarator['id'], scope)
      }
    }
  }

  #function(node: Node, outer: Scope, ownThis: boolean): void {
    const arrow = node.type === 'ArrowFunctionExpression'
    const scope = new Scope(outer, !arrow || ownThis)
    if (!arrow) {
      for (const name of ['arguments', 'this', 'new.target']) scope.names.add(name)
      if (node.type === 'FunctionExpression') this.#bind(node['id'], scope)
    }
    for (const parameter of node['params'] as unknown[]) this.#bind(parameter, scope)
    for (const parameter of node['params'] as unknown[]) this.#patternExpressions(parameter, scope)
    const body = node['body'] as Node
    if (body.type === 'BlockStatement') {
      this.#hoist(body['body'], scope)
      this.#declare(body['body'] as unknown[], scope)
      this.#children(body, scope)
    } else {
      this.#visit(body, scope)
    }
  }

  #class(node: Node, outer: Scope): void {
    const scope = new Scope(outer, false)
    this.#bind(node['id'], scope)
    // `extends` sees the class's name but not its `this`.
    this.#visit(node['superClass'], scope)
    const inside = new Scope(scope, true)
    for (const name of ['this', 'super', 'new.target']) inside.names.add(name)
    for (const member of (node['body'] as Node)['body'] as Node[]) {
      if (member['computed'] === true) this.#visit(member['key'], scope)
      if (member.type === 'StaticBlock') {
        const block = new Scope(inside, true)
        this.#hoist(member['body'], block)
        this.#declare(member['body'] as unknown[], block)
        for (const statement of member['body'] as unknown[]) this.#visit(statement, block)
      } else {
        this.#visit(member['value'], inside)
      }
    }
  }

  #children(node: Node, scope: Scope): void {
    for (const [key, value] of Object.entries(node)) {
      if (key === 'type') continue
      if (Array.isArray(value)) for (const one of value) this.#visit(one, scope)
      else this.#visit(value, scope)
    }
  }

  #use(name: string, scope: Scope): void {
    if (!scope.has(name) && !GLOBALS.has(name)) this.found.add(name)
  }

  #visit(node: unknown, scope: Scope): void {
    if (!isNode(node)) return
    switch (node.type) {
      case 'Identifier':
        this.#use(node['name'] as string, scope)
        return
      case 'ThisExpression':
        this.#use('this', scope)
        return
      case 'Super':
        this.#use('super', scope)
        return
      case 'MetaProperty':
        this.#use(`${(node['meta'] as Node)['name'] as string}.${(node['property'] as Node)['name'] as string}`, scope)
        return
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        this.#function(node, scope, false)
        return
      case 'ClassDeclaration':
      case 'ClassExpression':
        this.#class(node, scope)
        return
      case 'BlockStatement':
      case 'SwitchStatement': {
        const block = new Scope(scope, false)
        if (node.type === 'SwitchStatement') {
          this.#visit(node['discriminant'], scope)
          const cases = node['cases'] as Node[]
          for (const one of cases) this.#declare(one['consequent'] as unknown[], block)
          for (const one of cases) this.#children(one, block)
        } else {
          this.#declare(node['body'] as unknown[], block)
          this.#children(node, block)
        }
        return
      }
      case 'ForStatement':
      case 'ForInStatement':
      case 'ForOfStatement': {
        const head = new Scope(scope, false)
        this.#declare([node['init'] ?? node['left']], head)
        this.#children(node, head)
        return
      }
      case 'CatchClause': {
        const block = new Scope(scope, false)
        this.#bind(node['param'], block)
        this.#patternExpressions(node['param'], block)
        this.#visit(node['body'], block)
        return
      }
      case 'VariableDeclarator':
        this.#patternExpressions(node['id'], scope)
        this.#visit(node['init'], scope)
        return
      case 'MemberExpression':
        this.#visit(node['object'], scope)
        if (node['computed'] === true) this.#visit(node['property'], scope)
        return
      case 'Property':
        if (node['computed'] === true) this.#visit(node['key'], scope)
        if (node['method'] === true || node['kind'] !== 'init') {
          const method = new Scope(scope, false)
          method.names.add('super')
          this.#visit(node['value'], method)
        } else {
          this.#visit(node['value'], scope)
        }
        return
      case 'LabeledStatement':
        this.#visit(node['body'], scope)
        return
      case 'BreakStatement':
      case 'ContinueStatement':
        return
      case 'UnaryExpression':
        // `typeof x` asks whether there is an x.
        if (node['operator'] === 'typeof' && (node['argument'] as Node).type === 'Identifier') return
        this.#children(node, scope)
        return
      default:
        this.#children(node, scope)
    }
  }

  /** Looks at the one function of the program. */
  static of(expression: Node): Set<string> {
    const walk = new FreeVariables()
    walk.#visit(expression, new Scope(undefined, true))
    return walk.found
  }
}

const refuse = (message: string): PgParallelError =>
  new PgParallelError(message, { category: 'task', retryable: false })

/** What was found out about a function text. */
type Checked = { readonly source: string } | { readonly refusal: string }

const cache = new Map<string, Checked>()
const CACHE_LIMIT = 1_000

function examine(text: string): Checked {
  if (/\{\s*\[native code\]\s*\}$/.test(text))
    return { refusal: 'is built in or bound: its code cannot be sent to a thread' }
  if (/^class\b/.test(text)) return { refusal: 'is a class; give a function' }
  const parseOptions = { ecmaVersion: 'latest', allowImportExportEverywhere: true } as const
  // Methods have no `function` keyword; they make sense inside an object only.
  for (const [before, after, source] of [
    ['(', ')', text],
    ['({', '})', `Object.values({${text}})[0]`],
  ] as const) {
    let program: Node
    try {
      program = parse(before + text + after, parseOptions) as unknown as Node
    } catch {
      continue
    }
    const [statement] = program['body'] as Node[]
    const free = FreeVariables.of(statement?.['expression'] as Node)
    if (free.size === 0) return { source }
    return {
      refusal:
        `uses what is not in it: ${[...free].join(', ')}. ` +
        'Pass values as arguments, load modules inside with import() or require, or use a file task',
    }
  }
  return { refusal: 'cannot be read as a function' }
}

/**
 * The text of a function that can run on its own, as an expression.
 *
 * @throws PgParallelError of category `task` that names the variables it takes from outside
 */
export function inlineSource(fn: (...args: never[]) => unknown): string {
  const text = Function.prototype.toString.call(fn)
  let checked = cache.get(text)
  if (!checked) {
    checked = examine(text)
    if (cache.size >= CACHE_LIMIT) cache.clear()
    cache.set(text, checked)
  }
  if ('refusal' in checked) throw refuse(`function ${fn.name || '(anonymous)'} ${checked.refusal}`)
  return checked.source
}
