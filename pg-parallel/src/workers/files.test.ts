import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { checkedThreadPath, isRelay, RELAY_DATA, threadFile } from './files'

test('threads begin with the package’s own files, or with the one that the option names', () => {
  assert.equal(threadFile('thread.js', undefined), join(__dirname, 'thread.js'))
  assert.equal(threadFile('relayThread.js', undefined), join(__dirname, 'relayThread.js'))
  assert.equal(threadFile('thread.js', __filename), __filename)
})

test('a file that is not there is an error that says what to do', () => {
  const nowhere = join(__dirname, 'nowhere.js')
  assert.throws(() => threadFile('thread.js', nowhere), {
    name: 'PgParallelError',
    category: 'configuration',
    message: `there is no file ${nowhere} (threadPath)`,
  })
  assert.throws(
    () => threadFile('nowhere.js' as 'thread.js', undefined),
    /bundle pg-parallel\/thread too and give its path as threadPath/,
  )
})

test('the option takes paths and file: URLs', () => {
  assert.equal(checkedThreadPath(undefined), undefined)
  assert.equal(checkedThreadPath('dist/thread.js'), join(process.cwd(), 'dist/thread.js'))
  assert.equal(checkedThreadPath(pathToFileURL(__filename)), __filename)
  assert.equal(checkedThreadPath(pathToFileURL(__filename).href), __filename)
  for (const wrong of ['', 7, null, new URL('http://localhost/thread.js')]) {
    assert.throws(() => checkedThreadPath(wrong), /^PgParallelError: threadPath must be/)
  }
})

test('only the relay’s data is the relay’s', () => {
  assert.deepEqual([isRelay(RELAY_DATA), isRelay({}), isRelay(null)], [true, false, false])
})
