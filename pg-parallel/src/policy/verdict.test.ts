import assert from 'node:assert/strict'
import { test } from 'node:test'
import { natureOf } from './replay'
import { judge, verdictError, type Circumstances } from './verdict'

const server = (code: string): Error => Object.assign(new Error(code), { code, severity: 'ERROR' })
const lost = new Error('Connection terminated unexpectedly')
const about = (text: string, more: Partial<Circumstances> = {}): Circumstances => ({
  nature: natureOf(text),
  idempotent: undefined,
  sent: true,
  answered: false,
  wantsWritable: false,
  ...more,
})
const INSERT = 'INSERT INTO t VALUES (1)'

// what, error, circumstances → may have executed, repeat
const CASES: [string, Error, Circumstances, boolean, boolean][] = [
  ['a lost write', lost, about(INSERT), true, false],
  ['a lost write that was never sent', lost, about(INSERT, { sent: false }), false, true],
  ['a lost read', lost, about('SELECT 1'), false, true],
  ['a lost function call', lost, about('SELECT book_seat(1)'), true, false],
  ['a lost idempotent write', lost, about(INSERT, { idempotent: true }), true, true],
  ['a write the server refused', server('23505'), about(INSERT), false, false],
  ['a write that met a serialization failure', server('40001'), about(INSERT), false, true],
  ['a write whose session was ended', server('57P01'), about(INSERT), false, true],
  ['a write in a crash', server('57P02'), about(INSERT), true, false],
  ['a write without memory', server('53200'), about(INSERT), false, true],
  ['a procedure that failed may have committed on its way', server('40001'), about('CALL p()'), true, false],
  ['a procedure whose session was ended', server('57P01'), about('CALL p()'), true, false],
  ['a write on a read-only server', server('25006'), about(INSERT), false, false],
  ['the same where a writable one was wanted', server('25006'), about(INSERT, { wantsWritable: true }), false, true],
  ['an answer that could not be read', new TypeError('bad'), about(INSERT, { answered: true }), true, false],
  [
    'an answer that could not be read, of an idempotent write',
    lost,
    about(INSERT, { answered: true, idempotent: true }),
    true,
    false,
  ],
]
for (const [what, error, circumstances, executed, repeat] of CASES) {
  test(what, () => {
    const verdict = judge(error, circumstances)
    assert.equal(verdict.mayHaveExecuted, executed)
    assert.equal(verdict.repeat, repeat)
  })
}

test('a statement that the server did not get to has not run, whatever the text and the code', () => {
  for (const code of ['26000', '42P05', '0A000']) {
    const verdict = judge(server(code), about('CALL p()', { lostStatement: true }))
    assert.equal(verdict.stalePlan, true)
    assert.equal(verdict.mayHaveExecuted, false)
    assert.equal(verdictError(server(code), verdict, 1).category, 'plan')
  }
})

test('the same code from within a procedure says nothing about what it did before', () => {
  const verdict = judge(server('26000'), about('CALL p()'))
  assert.equal(verdict.stalePlan, false)
  assert.equal(verdict.mayHaveExecuted, true)
})
