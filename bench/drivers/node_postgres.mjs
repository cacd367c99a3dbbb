// The five operations through node-postgres: a job on standard input, the times of each operation on standard output.
// The shapes are those of psycopg3.py beside it.
import pg from 'pg'

const text = await new Promise((done) => {
  let all = ''
  process.stdin.setEncoding('utf8').on('data', (part) => (all += part)).on('end', () => done(all))
})
const job = JSON.parse(text)

const sessions = []
for (const target of job.targets) {
  const client = new pg.Client({ host: target.host, port: target.port, user: target.user, database: target.database })
  await client.connect()
  sessions.push({ name: target.name, client, times: {}, errors: {} })
}

async function run(session, operation, count, first, keep) {
  const { sql, rows, affected } = job.operations[operation]
  const times = (session.times[operation] ??= [])
  for (let i = 0; i < count; i++) {
    const n = first + i
    const key = (n * 7919) % job.rows
    const values = { insert: [job.base + n, n, `value ${n}`], delete: [job.base + n], 'select range': [key, key + job.range] }[operation] ?? [key]
    const began = process.hrtime.bigint()
    try {
      const result = await session.client.query({ name: operation, text: sql, values })
      const took = Number(process.hrtime.bigint() - began)
      if (result.rows.length !== rows || (affected !== null && result.rowCount !== affected))
        throw Object.assign(new Error(), { code: `${result.rows.length} rows, ${result.rowCount} affected` })
      if (keep) times.push(took)
    } catch (error) {
      const kind = error.code ?? error.message
      session.errors[operation] ??= {}
      session.errors[operation][kind] = (session.errors[operation][kind] ?? 0) + 1
    }
  }
}

for (const operation of Object.keys(job.operations)) {
  for (const session of sessions) await run(session, operation, job.warmup, 0, false)
  await new Promise((done) => setTimeout(done, job.pause_ms))
  for (let slice = 0; slice < job.slices; slice++) {
    for (let turn = 0; turn < sessions.length; turn++) {
      const session = sessions[(slice + turn) % sessions.length]
      await run(session, operation, job.slice_operations, job.warmup + slice * job.slice_operations, true)
    }
  }
}
for (const { client } of sessions) await client.end()
console.log(JSON.stringify(sessions.map(({ name, times, errors }) => ({ target: name, times, errors }))))
