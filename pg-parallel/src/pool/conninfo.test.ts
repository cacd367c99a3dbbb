import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveHosts } from './hosts'
import { isKeywords, optionsOf, readKeywords, readService } from './conninfo'

test('which strings have keywords', () => {
  for (const yes of ['host=a', '  dbname = x', 'service=y']) assert(isKeywords(yes), yes)
  for (const no of ['postgres://u:p=q@h/d', '/tmp/x db', 'socket:/x?db=y', '']) assert(!isKeywords(no), no)
})

test('keywords and values', () => {
  const table: [string, Record<string, string>][] = [
    ['host=a port=5', { host: 'a', port: '5' }],
    ["password='it\\'s \\\\ mine' dbname=''", { password: "it's \\ mine", dbname: '' }],
    ['user = me  host= b ', { user: 'me', host: 'b' }],
    ['options=a\\ b host=', { options: 'a b', host: '' }],
  ]
  for (const [text, expected] of table) assert.deepEqual(readKeywords(text), expected, text)
  for (const wrong of ['host', "host='a", 'host=a port', "a='b'c"]) {
    assert.throws(() => readKeywords(wrong), { category: 'configuration' }, wrong)
  }
  assert.throws(
    () => readKeywords("password=secret host='"),
    (error: Error) => !error.message.includes('secret'),
  )
})

test('service files', () => {
  const text = '# c\n[a]\nhost=x\n\n[b]\nhost = y \r\ndbname=z=1\n[c]\nbroken\n[d]\nservice=a\n'
  assert.deepEqual(readService(text, 'a'), { host: 'x' })
  assert.deepEqual(readService(text, 'b'), { host: 'y', dbname: 'z=1' })
  assert.equal(readService(text, 'e'), undefined)
  assert.throws(() => readService(text, 'c'), /line 9/)
  assert.throws(() => readService(text, 'd'), /another service/)
})

test('libpq’s names are ours, and what is not supported is named', () => {
  assert.deepEqual(optionsOf({ dbname: 'd', require_auth: 'md5', hostaddr: '::1' }), {
    database: 'd',
    requireAuth: 'md5',
    host: '::1',
  })
  assert.throws(() => optionsOf({ gssencmode: 'prefer' }), /"gssencmode" is not supported/)
  assert.throws(() => optionsOf({ host: 'a', hostaddr: '::1' }), /hostaddr/)
})

test('what a string says goes before other options', () => {
  const { client, plan } = resolveHosts(
    { connectionString: "host=a,b port=1,2 dbname='my data' user=u target_session_attrs=primary", user: 'other' },
    undefined,
    undefined,
  )
  assert.deepEqual(plan, {
    addresses: [
      { host: 'a', port: 1 },
      { host: 'b', port: 2 },
    ],
    target: 'primary',
  })
  assert.equal(client.database, 'my data')
  assert.equal(client.user, 'u')
  assert.throws(() => resolveHosts({ connectionString: 'client_encoding=LATIN1' }, undefined, undefined), /UTF8/)
})
