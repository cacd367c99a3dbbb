/** The package as it is published: both module systems, declarations, and the examples of the README. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { server } from './support/run'
import { TARGET } from './support/servers'

const run = promisify(execFile)

// An application that has installed the package as it would be published: the unpacked tarball and what it depends on.
const app = mkdtempSync(join(tmpdir(), 'pg-parallel-app-'))
const installed = join(app, 'node_modules/pg-parallel')
interface Packed {
  filename: string
  size: number
  files: { path: string }[]
}
let packed: Packed | undefined
interface Manifest {
  license: string
  engines: Record<string, string>
  peerDependencies?: Record<string, string>
  dependencies: Record<string, string>
  exports: Record<string, unknown>
  main: string
  module: string
  types: string
}
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest

before(async () => {
  // `npm test` has built it; building, and the following, are what npm would run here.
  await run(process.execPath, ['tools/pack.mjs'])
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', app])
  ;[packed] = JSON.parse(stdout) as [Packed]
  mkdirSync(installed, { recursive: true })
  await run('tar', ['-xzf', join(app, packed.filename), '-C', installed, '--strip-components=1'])
  for (const name of Object.keys(manifest.dependencies)) {
    symlinkSync(resolve('node_modules', name), join(app, 'node_modules', name))
  }
})
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

const NAMES = [
  'CircuitBreaker',
  'CircuitBreakerUtils',
  'CopyFrom',
  'CopyTo',
  'ErrorUtils',
  'PgParallel',
  'PgParallelError',
  'PgParallelPool',
  'PooledClient',
  'RetryUtils',
  'Sql',
  'sql',
]

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

test('the tarball has what it says it has, and nothing else', () => {
  assert(packed)
  const files = new Set(packed.files.map((file) => file.path))
  const entries = (value: unknown): string[] =>
    typeof value === 'string' ? [value] : Object.values(value as object).flatMap(entries)
  for (const path of entries([manifest.main, manifest.module, manifest.types, manifest.exports])) {
    assert(files.has(path.replace(/^\.\//, '')), path)
  }
  for (const path of files)
    assert.match(path, /^(package\.json|(README|API|CHANGELOG)\.md|LICENSE|dist\/[\w/]+(\.d)?\.m?[jt]s)$/)
  assert(![...files].some((path) => path.includes('.test.')))
  const sources = readdirSync('src', { recursive: true }).map(String)
  for (const path of sources.filter((name) => /(?<!\.test|\.d)\.ts$/.test(name))) {
    for (const ending of ['.js', '.d.ts']) assert(files.has(`dist/${path.replace(/\.ts$/, ending)}`), path)
  }
  assert(packed.size < 200_000, `${packed.size} bytes`)
})

test('the manifest says what npm and its users go by', () => {
  assert.equal(manifest.license, 'MIT')
  assert.match(readFileSync(join(installed, 'LICENSE'), 'utf8'), /^MIT License$/m)
  assert.deepEqual(manifest.engines, { node: '>=20' })
  assert(!('pg' in manifest.dependencies) && manifest.peerDependencies === undefined)
  // Conditions are tried in their order: where types do not come first, TypeScript never sees them.
  for (const way of Object.values(manifest.exports['.'] as Record<string, Record<string, string>>)) {
    assert.deepEqual(Object.keys(way), ['types', 'default'])
  }
})

test('publint and attw find nothing wrong with the tarball', { skip: TARGET === 'pgsqlite' }, async () => {
  assert(packed)
  const tool = (...args: string[]): Promise<{ stdout: string }> =>
    run(process.execPath, args, { env: { ...process.env, NO_COLOR: '1' } }).catch((error: unknown) => {
      const { stdout, stderr } = error as { stdout: string; stderr: string }
      return assert.fail(stdout + stderr)
    })
  const tarball = join(app, packed.filename)
  const { stdout } = await tool(resolve('node_modules/publint/src/cli.js'), tarball, '--strict')
  assert.match(stdout, /All good/)
  await tool(resolve('node_modules/@arethetypeswrong/cli/dist/index.js'), tarball)
})

test('every source has its unit test beside it', () => {
  const sources = new Set(readdirSync('src', { recursive: true }).map(String))
  const without = [...sources].filter(
    (name) => /(?<!\.test|\.d)\.ts$/.test(name) && !sources.has(name.replace(/\.ts$/, '.test.ts')),
  )
  assert.deepEqual(without, [])
})

test('the tarball has the API’s documentation and the package’s changes', () => {
  const api = readFileSync(join(installed, 'API.md'), 'utf8')
  for (const method of ['query', 'transaction', 'stream', 'task', 'worker', 'warmup', 'shutdown']) {
    assert.match(api, new RegExp(`^##### ${method}\\(\\)$`, 'm'), method)
  }
  // What refers to a source is of no use there.
  assert.doesNotMatch(api, /top of the file/)
  const changes = readFileSync(join(installed, 'CHANGELOG.md'), 'utf8')
  assert.match(changes, /^## \[Unreleased\]\n\n### Added\n\n- pg-parallel/m)
  // A line is a heading of a version or of a group, or a part of an entry of this package.
  const heading = /^(# Changelog|## \[?[\w.]+\]?.*|### (Added|Changed|Deprecated|Removed|Fixed|Security))$/
  for (const line of changes.split('\n').filter((line) => line !== ''))
    assert.match(line, /^#/.test(line) ? heading : /^(- pg-parallel\b| {2}\S)/)
})

test('what is published says where it comes from', async () => {
  if (['repository', 'homepage', 'bugs'].every((field) => field in manifest)) return
  await assert.rejects(
    run(process.execPath, ['tools/pack.mjs', 'publish']),
    /package.json has no (repository|homepage|bugs)/,
  )
})

test('the declarations have no any', () => {
  const dist = join(installed, 'dist')
  const files = readdirSync(dist, { recursive: true })
    .map(String)
    .filter((name) => /\.d\.m?ts$/.test(name))
  assert(files.length > 10)
  for (const file of files) {
    const code = readFileSync(join(dist, file), 'utf8')
      .replace(/\/\*[^]*?\*\//g, '')
      .replace(/'[^'\n]*'/g, "''")
    assert.doesNotMatch(code, /\bany\b/, file)
  }
})

test('the declarations serve strict TypeScript in both module systems', async () => {
  const program = `
    import { PgParallel, PgParallelError, type WorkerClient } from 'pg-parallel'
    interface Row { id: number; name: string }
    export async function use(db: PgParallel): Promise<string> {
      const { rows } = await db.query<Row>('SELECT 1', [1], { timeoutMs: 5, signal: AbortSignal.timeout(1), idempotent: true })
      const arrays: unknown[][] = (await db.query({ text: 'SELECT 1', rowMode: 'array' })).rows
      const sum: number = await db.task((a: number, b: number) => a + b, [1, arrays.length])
      const name: string = await db.worker(async (client, id: number) => (await client.query<Row>('SELECT $1', [id])).rows[0]?.name ?? '', [sum])
      const file: string = await db.worker<[number], string>({ taskPath: '/x.mjs', taskName: 'y', args: [1] })
      for await (const row of db.stream<Row>('SELECT 1', [], { batchSize: 5 })) rows.push(row)
      await db.transaction(async (tx) => tx.savepoint(async (inner) => inner.query('SELECT 1')), { isolation: 'serializable' })
      db.on('retry', ({ error, delayMs }) => [error.mayHaveExecuted, delayMs.toFixed()])
      // @ts-expect-error there is no such event
      db.on('nothing', () => {})
      // @ts-expect-error a string is no number
      await db.task((a: number) => a, ['x'])
      return name + file
    }
    export const helper = (client: WorkerClient) => client.query('SELECT 1')
    export const is = (error: unknown) => error instanceof PgParallelError && error.category === 'timeout'`
  for (const name of ['use.mts', 'use.cts']) writeFileSync(join(app, name), program)
  writeFileSync(join(app, 'package.json'), '{}')
  mkdirSync(join(app, 'node_modules/@types'), { recursive: true })
  symlinkSync(resolve('node_modules/@types/node'), join(app, 'node_modules/@types/node'))
  const options =
    '--noEmit --strict --exactOptionalPropertyTypes --skipLibCheck --target es2022 --module node16 --preserveSymlinks'
  const tsc = [resolve('node_modules/typescript/bin/tsc'), ...options.split(' '), 'use.mts', 'use.cts']
  const { stdout } = await run(process.execPath, tsc, { cwd: app }).catch(
    (error: unknown) => error as { stdout: string },
  )
  assert.equal(stdout, '')
})

const examples = [...readFileSync('README.md', 'utf8').matchAll(/^```js\n([^]*?)^```$/gm)].map(
  (match) => match[1] ?? '',
)

for (const format of ['cjs', 'esm'] as const) {
  test(`an application may be bundled (esbuild, ${format}), with its threads in a bundle of their own`, async () => {
    const source = join(app, `source-${format}`)
    const out = join(app, `bundled-${format}`)
    mkdirSync(source)
    symlinkSync(join(app, 'node_modules'), join(source, 'node_modules'))
    const place = format === 'esm' ? `new URL('thread.mjs', import.meta.url)` : `__dirname + '/thread.js'`
    // A thread that stands back speaks through the relay, which is the same file.
    const program = `
      import { PgParallel } from 'pg-parallel'
      const options = { connectionString: process.env.DATABASE_URL, max: 3, maxWorkers: 1 }
      async function main() {
        const unbundled = new PgParallel(options)
        await unbundled.task(() => 1).catch(({ category, message }) => console.log(category, message.includes('threadPath')))
        await unbundled.shutdown()
        for (const workerNice of [0, 1]) {
          const db = new PgParallel({ ...options, workerNice, threadPath: ${place} })
          console.log(await db.task((a, b) => a + b, [40, 2]))
          console.log(await db.worker(async (client, n) => (await client.query('SELECT $1::int AS n', [n])).rows, [7]))
          const { rows } = await db.query({ text: 'SELECT n FROM generate_series(1, 3) AS n', decode: 'thread' })
          console.log(rows.length, rows[2])
          await db.shutdown()
        }
      }
      void main()`
    writeFileSync(join(source, 'app.js'), program)
    const banner = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)`
    await build({
      absWorkingDir: source,
      entryPoints: { app: './app.js', thread: 'pg-parallel/thread' },
      bundle: true,
      minify: true,
      platform: 'node',
      target: 'node20',
      format,
      outdir: out,
      logLevel: 'silent',
      ...(format === 'esm' ? { outExtension: { '.js': '.mjs' }, banner: { js: banner } } : {}),
    })
    // Nothing but the two files is there.
    const alone = mkdtempSync(join(tmpdir(), 'pg-parallel-bundle-'))
    try {
      cpSync(out, alone, { recursive: true })
      const env = { ...process.env, DATABASE_URL: (await server()).url, NODE_OPTIONS: '' }
      const file = format === 'esm' ? 'app.mjs' : 'app.js'
      const { stdout, stderr } = await run(process.execPath, [file], { cwd: alone, env, timeout: 60_000 })
      assert.equal(stderr, '')
      const once = ['42', '[ { n: 7 } ]', '3 { n: 3 }']
      assert.deepEqual(stdout.trim().split('\n'), ['configuration true', ...once, ...once])
    } finally {
      rmSync(alone, { recursive: true })
    }
  })
}

test('the README tells of every option, event and exported tool', () => {
  const readme = readFileSync('README.md', 'utf8')
  const members = (file: string, name: string): string[] => {
    const body = new RegExp(`interface ${name}[^{]*\\{\\n([^]*?)\\n\\}`).exec(readFileSync(file, 'utf8'))?.[1] ?? ''
    return [...body.matchAll(/^ {2}(\w+)\??:/gm)].map((match) => match[1] ?? '')
  }
  const names = [
    ...members('src/options.ts', 'PgParallelOptions'),
    ...members('src/options.ts', 'CallOptions'),
    ...members('src/policy/deadline.ts', 'DeadlineOptions'),
    ...members('src/policy/retry.ts', 'RetryOptions'),
    ...members('src/policy/breaker.ts', 'CircuitBreakerOptions'),
    ...members('src/transaction.ts', 'TransactionOptions'),
    ...members('src/stream.ts', 'StreamOptions'),
    ...members('src/observe/events.ts', 'PgParallelEvents'),
    ...NAMES.filter((name) => name !== 'CircuitBreaker'),
  ]
  assert(names.length > 45, names.join())
  for (const name of names) assert.match(readme, new RegExp(`\\b${name}\\b`), name)
})

test('the README has examples', () => {
  assert(examples.length >= 6)
})

for (const [index, example] of examples.entries()) {
  test(`README example ${index + 1} does what its comments say`, async () => {
    const expected = [...example.matchAll(/console\.log\(.*?\/\/ (.*)$/gm)].map((match) => match[1])
    assert.deepEqual((await script(`example${index}.mjs`, example)).trim().split('\n').filter(Boolean), expected)
  })
}
