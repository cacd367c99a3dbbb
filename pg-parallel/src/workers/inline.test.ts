import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PgParallelError } from '../errors'
import { inlineSource } from './inline'

type Fn = (...args: never[]) => unknown

/** Names the check reports. */
function free(text: string): string[] {
  const stub = (): void => {}
  const original = Function.prototype.toString
  Function.prototype.toString = (): string => text
  try {
    inlineSource(stub)
    return []
  } catch (error) {
    assert(error instanceof PgParallelError)
    assert.equal(error.category, 'task')
    return (/not in it: (.*?)\. /.exec(error.message)?.[1] ?? error.message).split(', ')
  } finally {
    Function.prototype.toString = original
  }
}

const CLOSED = [
  '(a, b) => a + b',
  'function add(a, b = a) { return add.name + arguments.length + a + b }',
  'async ({ a: { b }, ...rest }, [c, , d = b], ...e) => [b, rest, c, d, e]',
  "async () => { const { readFile } = await import('node:fs/promises'); return readFile(__f) ; var __f }",
  "() => require('node:os').cpus().length",
  'n => { let s = 0; for (let i = 0; i < n; i++) s += i; for (const x of [1]) s += x; for (const k in {}) s += k.length; return s }',
  '() => { try { throw new Error() } catch ({ message }) { return message } finally { } }',
  '() => { outer: for (;;) { break outer } }',
  '() => { switch (1) { case 1: let x = 2; return x } }',
  '() => { class A { #p = 1; static s = 2; m() { return this.#p } get [Symbol.iterator]() { return super.toString } } return new A() }',
  'function* gen() { yield this }',
  'method(a) { return this && a }',
  'async method(a) { return a }',
  '() => typeof window === "undefined"',
  '() => { hoisted(); function hoisted() { return deep } var deep = 1 }',
  '() => ({ a: 1, b() { return this.a }, get c() { return 1 } })',
  '(o) => o.x.y?.z',
  '() => new URL("http://x").searchParams && Math.max(1, NaN, undefined)',
  'function () { return () => this }',
]
for (const text of CLOSED) {
  test(`runs on its own: ${text}`, () => {
    assert.deepEqual(free(text), [])
  })
}

const OPEN: [string, string[]][] = [
  ['() => outside', ['outside']],
  ['() => { outside = 1 }', ['outside']],
  ['(a = b) => c(a)', ['b', 'c']],
  ['() => ({ shorthand })', ['shorthand']],
  ['() => ({ [key]: 1 })', ['key']],
  ['() => { { let inner = 1 } return inner }', ['inner']],
  ['() => { for (let i = 0; i < 1; i++); return i }', ['i']],
  ['() => `${a}` + tag`x`', ['a', 'tag']],
  ['() => this.x', ['this']],
  ['() => import.meta.url', ['import.meta']],
  ['method() { return super.method() }', []],
  ['() => { class B extends A {} return B }', ['A']],
  ['() => { try {} catch (e) {} return e }', ['e']],
  ['({ a = fallback }) => a', ['fallback']],
  ['() => { const f = function own() { return own }; return own }', ['own']],
]
for (const [text, names] of OPEN) {
  test(`takes ${names.join(', ') || 'nothing'} from outside: ${text}`, () => {
    assert.deepEqual(free(text), names)
  })
}

test('built-in, bound and class functions are refused', () => {
  assert.throws(() => inlineSource(Math.max), /built in or bound/)
  assert.throws(() => inlineSource((() => 1).bind(null)), /built in or bound/)
  assert.throws(
    () =>
      inlineSource(
        class A {
          b = 1
        } as unknown as Fn,
      ),
    /is a class/,
  )
})

test('the error names the function', () => {
  const secret = 1
  assert.throws(
    () =>
      inlineSource(function leaky() {
        return secret
      }),
    /function leaky uses what is not in it: secret/,
  )
})
