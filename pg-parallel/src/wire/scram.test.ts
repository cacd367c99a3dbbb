import assert from 'node:assert/strict'
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'
import { test } from 'node:test'
import { certificateHash, saslprep, Scram } from './scram'

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** The server's side, from RFC 5802. */
function serve(first: string, final: string, serverFirst: string, password: string): string | undefined {
  const salt = Buffer.from(/s=([^,]+)/.exec(serverFirst)?.[1] ?? '', 'base64')
  const salted = pbkdf2Sync(password, salt, Number(/i=(\d+)/.exec(serverFirst)?.[1]), 32, 'sha256')
  const bare = first.replace(/^[^,]*,[^,]*,/, '')
  const withoutProof = final.replace(/,p=.*$/, '')
  const message = `${bare},${serverFirst},${withoutProof}`
  const proof = Buffer.from(/p=(.*)$/.exec(final)?.[1] ?? '', 'base64')
  const stored = createHash('sha256').update(hmac(salted, 'Client Key')).digest()
  const signature = hmac(stored, message)
  const key = Buffer.from(proof.map((byte, index) => byte ^ (signature[index] ?? 0)))
  if (!createHash('sha256').update(key).digest().equals(stored)) return undefined
  return `v=${hmac(hmac(salted, 'Server Key'), message).toString('base64')}`
}

test('both sides show each other that they know the password', async () => {
  for (const [binding, mechanisms, mechanism, channel] of [
    [undefined, ['SCRAM-SHA-256'], 'SCRAM-SHA-256', 'n,,'],
    [Buffer.from('hash'), ['SCRAM-SHA-256'], 'SCRAM-SHA-256', 'y,,'],
    [Buffer.from('hash'), ['SCRAM-SHA-256-PLUS', 'SCRAM-SHA-256'], 'SCRAM-SHA-256-PLUS', 'p=tls-server-end-point,,'],
  ] as const) {
    const scram = new Scram(mechanisms, binding, 'abc')
    assert.equal(scram.mechanism, mechanism)
    assert.equal(scram.first, `${channel}n=,r=abc`)
    const serverFirst = `r=abcdef,s=${Buffer.from('salt').toString('base64')},i=1000`
    const final = await scram.final(serverFirst, 'secret')
    const bound = /c=([^,]+)/.exec(final)?.[1] ?? ''
    assert.equal(
      Buffer.from(bound, 'base64').toString('latin1'),
      `${channel}${mechanism.endsWith('PLUS') ? 'hash' : ''}`,
    )
    const answer = serve(scram.first, final, serverFirst, 'secret')
    assert(answer)
    scram.verify(answer)
    assert.equal(serve(scram.first, final, serverFirst, 'other'), undefined)
    assert.throws(() => scram.verify('v=AAAA'), /signature/)
    assert.throws(() => scram.verify('e=other-error'), /other-error/)
  }
})

test('a server that lies is refused', async () => {
  assert.throws(() => new Scram(['OAUTHBEARER'], undefined), { category: 'authentication' })
  for (const first of [
    'r=xyz,s=c2FsdA==,i=4096',
    'r=abc,s=c2FsdA==,i=4096',
    'r=abcd,s=,i=4096',
    'r=abcd,s=c2FsdA==,i=2000000000',
    'r=abcd,s=c2FsdA==,i=0',
    '',
  ]) {
    await assert.rejects(new Scram(['SCRAM-SHA-256'], undefined, 'abc').final(first, 'x'), /SCRAM/, first)
  }
})

test('passwords are normalized as PostgreSQL does it', () => {
  assert.equal(saslprep('I\u00adX'), 'IX')
  assert.equal(saslprep('\u00aa'), 'a')
  assert.equal(saslprep('\u2168'), 'IX')
  assert.equal(saslprep('a\u00a0b'), 'a b')
})

test('what is no certificate has no hash', () => {
  assert.equal(certificateHash(Buffer.from([1, 2, 3])), undefined)
  assert.equal(certificateHash(Buffer.alloc(0)), undefined)
})
