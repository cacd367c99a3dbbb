import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onFake } from '../test/support/core'
import type { Answer } from '../test/support/fake'
import { runTransaction, type Transaction, type TransactionOptions } from './transaction'

type Run = <T>(fn: (tx: Transaction) => Promise<T>, options?: TransactionOptions) => Promise<T>

async function setup(...given: Parameters<typeof onFake>): Promise<Awaited<ReturnType<typeof onFake>> & { run: Run }> {
  const { fake, core } = await onFake(...given)
  return { fake, core, run: (fn, given) => runTransaction(core, fn, given) }
}

test('BEGIN says what was asked for', async () => {
  const { fake, run } = await setup()
  const cases: [TransactionOptions, string][] = [
    [{}, 'BEGIN'],
    [{ isolation: 'repeatable read' }, 'BEGIN ISOLATION LEVEL REPEATABLE READ'],
    [{ readOnly: true, deferrable: true }, 'BEGIN READ ONLY DEFERRABLE'],
    [
      { isolation: 'serializable', readOnly: false, deferrable: false },
      'BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE NOT DEFERRABLE',
    ],
  ]
  for (const [options] of cases) await run(async () => {}, options)
  assert.deepEqual(
    fake.texts,
    cases.flatMap(([, text]) => [text, 'COMMIT']),
  )
  await assert.rejects(
    run(async () => {}, { isolation: 'chaos' as never }),
    { category: 'configuration' },
  )
})

test('what throws rolls back and comes out as it is', async () => {
  const { fake, run } = await setup()
  const mine = new Error('mine')
  await assert.rejects(
    run(async (tx) => {
      await tx.query('INSERT')
      throw mine
    }),
    (error) => error === mine,
  )
  await run(async () => {})
  assert.deepEqual(fake.texts, ['BEGIN', 'INSERT', 'ROLLBACK', 'BEGIN', 'COMMIT'])
})

test('a plan that a statement itself did not find is no pooler’s doing: the transaction is run again once', async () => {
  const { run } = await setup((text) => (text === 'EXECUTE gone' ? { error: '26000' } : {}))
  let runs = 0
  const asked = run(async (tx) => {
    runs++
    await tx.query('EXECUTE gone')
  })
  await assert.rejects(asked, { category: 'plan', code: '26000' })
  assert.equal(runs, 2)
})

test('cut before COMMIT: run again; cut at COMMIT: only the caller can know', async () => {
  let cuts = 0
  const { run } = await setup((text) => (text === 'INSERT' && ++cuts === 1 ? { cut: true } : {}))
  let runs = 0
  await run(async (tx) => {
    runs++
    await tx.query('INSERT')
  })
  assert.equal(runs, 2)
  const { fake, run: committing } = await setup((text) => ({ cut: text === 'COMMIT' }))
  await assert.rejects(
    committing(async (tx) => tx.query('INSERT')),
    { mayHaveExecuted: true, retryable: false, attempts: 1 },
  )
  assert.deepEqual(fake.texts, ['BEGIN', 'INSERT', 'COMMIT'])
  await assert.rejects(
    committing(async (tx) => tx.query('INSERT'), { idempotent: true }),
    { attempts: 3 },
  )
  await assert.rejects(
    committing(async (tx) => tx.query('SELECT 1'), { readOnly: true }),
    { mayHaveExecuted: false, attempts: 3 },
  )
})

test('serialization failures are run again only when asked for', async () => {
  let failures = 0
  const { run } = await setup((text) => (text === 'UPDATE' && ++failures % 2 === 1 ? { error: '40001' } : {}))
  await assert.rejects(
    run(async (tx) => tx.query('UPDATE')),
    { category: 'serialization', retryable: true },
  )
  failures = 0
  await run(async (tx) => tx.query('UPDATE'), { retrySerializable: true })
  assert.equal(failures, 2)
})

test('an error that the function swallowed is not taken for a commit', async () => {
  const { run } = await setup((text) => (text === 'bad' ? { error: '22012' } : {}))
  await assert.rejects(
    run(async (tx) => {
      await tx.query('bad').catch(() => {})
    }),
    { sqlState: '25P02' },
  )
})

test('statements run one after the other, also when nobody waits for them', async () => {
  const { fake, run } = await setup()
  await run(async (tx) => {
    void tx.query('one')
    void tx.query('two')
    await tx.savepoint(async (inner) => {
      void inner.query('three')
      await Promise.resolve()
    })
  })
  assert.deepEqual(fake.texts, [
    ...['BEGIN', 'one', 'two', 'SAVEPOINT pg_parallel_1', 'three', 'RELEASE SAVEPOINT pg_parallel_1', 'COMMIT'],
  ])
})

test('a statement that runs out of its own time is cancelled before the next one is sent', async () => {
  const { fake, run } = await setup((text) => ({ hang: text === 'slow' }))
  await run(async (tx) => {
    await assert.rejects(
      tx.savepoint(async (inner) => inner.query('slow', [], { timeoutMs: 20 })),
      { category: 'timeout' },
    )
    await tx.query('next')
    await assert.rejects(tx.query('never', [], { timeoutMs: -1 }), { category: 'configuration' })
  })
  assert.equal(fake.cancels.length, 1)
  assert.deepEqual(fake.texts.slice(2), ['slow', 'ROLLBACK TO SAVEPOINT pg_parallel_1', 'next', 'COMMIT'])
})

test('a stream has a time limit and a signal of its own', async () => {
  const { fake, run } = await setup((text) => ({ hang: text === 'slow', rows: [{ n: '1' }, { n: '2' }] }))
  const read = async (stream: AsyncIterable<unknown>, after?: () => void): Promise<void> => {
    for await (const _row of stream) after?.()
  }
  await run(async (tx) => {
    await assert.rejects(
      tx.savepoint(async (inner) => read(inner.stream('slow', [], { timeoutMs: 20 }))),
      { category: 'timeout' },
    )
    assert.equal(fake.cancels.length, 1)
    const stop = new AbortController()
    await assert.rejects(
      read(tx.stream('rows', [], { signal: stop.signal, batchSize: 1 }), () => {
        stop.abort()
      }),
      { category: 'aborted' },
    )
    await assert.rejects(read(tx.stream('never', [], { timeoutMs: -1 })), { category: 'configuration' })
    await tx.query('next')
  })
  assert.equal(fake.cancels.length, 1, 'nothing ran when the signal came')
  assert.deepEqual(fake.texts.at(-1), 'COMMIT')
})

test('streams share the transaction and leave no portal behind', async () => {
  const { fake, run } = await setup((text) => (text === 'rows' ? { rows: [{ n: '1' }, { n: '2' }, { n: '3' }] } : {}))
  const seen = await run(async (tx) => {
    const list: unknown[] = []
    for await (const row of tx.stream<{ n: number }>('rows', [], { batchSize: 2 })) {
      list.push(row.n)
      await tx.query('between')
    }
    return list
  })
  assert.deepEqual(seen, [1, 2, 3])
  const heard = fake.sessions[0]?.heard.filter((one) => /^(Execute|Close|Query)/.test(one))
  assert.deepEqual(heard, [
    'Query BEGIN',
    ...['Execute pg_parallel_1 2', 'Query between', 'Query between', 'Execute pg_parallel_1 2', 'Query between'],
    ...['Close Ppg_parallel_1', 'Query COMMIT'],
  ])
})

test('a time limit holds also where the function waits for something else', async () => {
  const { fake, core, run } = await setup()
  await core.pool.warmup(1)
  await assert.rejects(
    run(async () => new Promise(() => {}), { timeoutMs: 500 }),
    { category: 'timeout' },
  )
  assert.deepEqual(core.calls, { started: 1, succeeded: 0, failed: 1, retried: 0 })
  assert.deepEqual(fake.texts.slice(0, 1), ['BEGIN'])
})

for (const [what, last] of [
  ['a statement that nobody waits for', 'UPDATE t SET b = 1'],
  ['the question who the transaction is', 'SELECT pg_catalog.pg_current_xact_id_if_assigned()'],
] as const) {
  test(`COMMIT is not sent when ${what} has taken all the time`, { timeout: 60_000 }, async () => {
    const stop = new AbortController()
    let arrives = (): void => {}
    const arrived = new Promise<void>((resolve) => (arrives = resolve))
    const epoch = { started: '1', recovered: '2', given: '5' }
    const answer = (text: string): Answer => {
      if (text.includes('AS can')) return { rows: [{ can: 't', id: '', fate: '', ...epoch }] }
      if (!text.startsWith(last)) return { rows: [{ id: '700', ...epoch }] }
      arrives()
      return { hang: true }
    }
    const { fake, core, run } = await setup(answer, { cancelTimeoutMs: 50 })
    if (last.startsWith('SELECT')) fake.parameters['server_version'] = '15.3'
    await assert.rejects(
      run(
        async (tx) => {
          await tx.query('UPDATE t SET a = 1')
          // The function has ended when the time has.
          void arrived.then(() =>
            setImmediate(() => {
              stop.abort()
            }),
          )
          if (last.startsWith('UPDATE')) tx.query(last).catch(() => {})
          else await arrived
        },
        { signal: stop.signal },
      ),
      { category: 'aborted', mayHaveExecuted: false },
    )
    await core.pool.warmup(1)
    assert(fake.texts.some((text) => text.startsWith(last)))
    assert(!fake.texts.includes('COMMIT'))
  })
}
