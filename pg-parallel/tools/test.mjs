// Runs the tests: unit tests once, integration tests against PostgreSQL and then against pgsqlite.
//
// usage: node tools/test.mjs [unit|postgres|pgsqlite]… [--only NAME]
//
// test/pgsqlite_expected_failures.txt names the integration tests that pgsqlite does not pass yet, one a line. It is
// exact: a test that fails and is not listed fails the run, and so does one that is listed and passes.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join, resolve } from 'node:path'
import { run } from 'node:test'

const servers = createRequire(import.meta.url)('../build/test/support/servers.js')
const args = process.argv.slice(2)
const only = args.includes('--only') ? args[args.indexOf('--only') + 1] : undefined
const parts = args.filter((arg) => ['unit', 'postgres', 'pgsqlite'].includes(arg))

const filesIn = (folder) =>
  readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((name) => name.endsWith('.test.js') && (only === undefined || name.includes(only)))
    .sort()

/** Runs files, prints what fails, and returns the names of failed and passed tests. */
async function runFiles(files, expected) {
  const failed = []
  const passed = []
  // The limit is there for what hangs; a file takes some seconds, the longest about a minute.
  const stream = run({ files, concurrency: 2, timeout: 240_000 })
  const running = new Map()
  const key = ({ name, file, nesting }) => `${file}\0${nesting}\0${name}`
  stream.on('test:dequeue', (test) => running.set(key(test), test))
  stream.on('test:complete', (test) => running.delete(key(test)))
  stream.on('test:fail', ({ name, details, file, nesting }) => {
    // The file itself fails with its tests; where it failed on its own there is no other entry for it.
    if (nesting === 0 && existsSync(name) && details.error?.failureType === 'subtestsFailed') return
    const id = existsSync(name) ? basename(name) : `${basename(file ?? '').replace(/\.js$/, '')}: ${name}`
    failed.push(id)
    if (existsSync(name)) {
      for (const hung of running.values()) if (hung.file === resolve(name)) console.log(`RUNNING ${id}: ${hung.name}`)
    }
    if (!expected.has(id))
      console.log(`FAILED ${id}\n${indent(details.error?.cause?.stack ?? details.error?.stack ?? '')}`)
  })
  stream.on('test:pass', ({ name, file, skip, details }) => {
    if (existsSync(name) || details?.type === 'suite') return
    if (skip === undefined) passed.push(`${basename(file ?? '').replace(/\.js$/, '')}: ${name}`)
  })
  stream.on('test:stderr', ({ message }) => process.stderr.write(message))
  stream.resume()
  await new Promise((done) => stream.once('end', done))
  return { failed, passed }
}

const indent = (text) => text.replace(/^/gm, '    ')

function expectedFailures(target) {
  if (target !== 'pgsqlite') return new Set()
  const lines = readFileSync('test/pgsqlite_expected_failures.txt', 'utf8').split('\n')
  return new Set(lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#')))
}

let bad = 0
if (parts.length === 0 || parts.includes('unit')) {
  const { failed, passed } = await runFiles(filesIn('build/src'), new Set())
  console.log(`unit: ${passed.length} passed, ${failed.length} failed`)
  bad += failed.length
}
if (parts.length === 0 || parts.includes('postgres')) process.env.PG_PARALLEL_TEMPLATE = servers.makeTemplate()
for (const target of ['postgres', 'pgsqlite']) {
  if (parts.length > 0 && !parts.includes(target)) continue
  process.env.TARGET = target
  if (target === 'pgsqlite') {
    process.env.PGSQLITE_BIN = resolve(servers.pgsqliteBin())
    if (!existsSync(process.env.PGSQLITE_BIN)) {
      console.log(`pgsqlite is not built: ${process.env.PGSQLITE_BIN} (PGSQLITE_BIN)`)
      bad++
      continue
    }
  }
  const expected = expectedFailures(target)
  const { failed, passed } = await runFiles(filesIn('build/test'), expected)
  const surprises = failed.filter((name) => !expected.has(name))
  const cured = passed.filter((name) => expected.has(name))
  for (const name of cured) console.log(`PASSES NOW, take it out of the expected failures: ${name}`)
  console.log(
    `${target}: ${passed.length} passed, ${failed.length - surprises.length} failed as expected, ${surprises.length} failed`,
  )
  bad += surprises.length + cured.length
}
process.exitCode = bad === 0 ? 0 : 1
