/** The package as it is published: both module systems, declarations, and the examples of the README. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { server } from './support/run'

const run = promisify(execFile)

// An application that has installed the package.
const app = mkdtempSync(join(tmpdir(), 'pg-parallel-app-'))
mkdirSync(join(app, 'node_modules'))
symlinkSync(resolve('.'), join(app, 'node_modules/pg-parallel'))
symlinkSync(resolve('node_modules/pg'), join(app, 'node_modules/pg'))
after(() => {
  rmSync(app, { recursive: true })
})

async function script(name: string, text: string): Promise<string> {
  writeFileSync(join(app, name), text)
  const env = { ...process.env, DATABASE_URL: (await server()).url, NODE_OPTIONS: '' }
  const { stdout, stderr } = await run(process.execPath, [name], { cwd: app, env, timeout: 60_000 })
  assert.equal(stderr, '')
  return stdout
}

const NAMES = ['CircuitBreaker', 'CircuitBreakerUtils', 'ErrorUtils', 'PgParallel', 'PgParallelError', 'RetryUtils']

test('import and require give the same things', async () => {
  const both = `
    import * as esm from 'pg-parallel'
    import { createRequire } from 'node:module'
    const cjs = createRequire(import.meta.url)('pg-parallel')
    const { default: _all, ...names } = esm
    console.log(Object.keys(names).sort().join(), Object.keys(names).every((name) => cjs[name] === esm[name]))`
  assert.equal(await script('both.mjs', both), `${NAMES.join()} true\n`)
  assert.equal(
    await script('cjs.cjs', `console.log(Object.keys(require('pg-parallel')).sort().join())`),
    `${NAMES.join()}\n`,
  )
})

test('the declarations have no any', () => {
  const files = readdirSync('dist', { recursive: true })
    .map(String)
    .filter((name) => /\.d\.m?ts$/.test(name))
  assert(files.length > 10)
  for (const file of files) {
    const code = readFileSync(join('dist', file), 'utf8')
      .replace(/\/\*[^]*?\*\//g, '')
      .replace(/'[^'\n]*'/g, "''")
    assert.doesNotMatch(code, /\bany\b/, file)
  }
})

const examples = [...readFileSync('README.md', 'utf8').matchAll(/^```js\n([^]*?)^```$/gm)].map(
  (match) => match[1] ?? '',
)

test('the README has examples', () => {
  assert(examples.length >= 6)
})

for (const [index, example] of examples.entries()) {
  test(`README example ${index + 1} does what its comments say`, async () => {
    const expected = [...example.matchAll(/console\.log\(.*?\/\/ (.*)$/gm)].map((match) => match[1])
    assert.deepEqual((await script(`example${index}.mjs`, example)).trim().split('\n').filter(Boolean), expected)
  })
}
