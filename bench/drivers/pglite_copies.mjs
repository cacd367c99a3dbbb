// PGlite in the process of the tests: a database is migrated once, and each test has a clone of it, as its manual proposes.
// Reads JSON lines: {"migrate": SQL}, then {"test": [SQL, …]}. Answers each with how many nanoseconds it took, and the first field of the last row.
import { createInterface } from 'node:readline'
import { PGlite } from '@electric-sql/pglite'

let base
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line)
  const began = process.hrtime.bigint()
  let last = null
  if (asked.migrate) {
    base = await PGlite.create()
    await base.exec(asked.migrate)
  } else {
    const copy = await base.clone()
    for (const statement of asked.test) last = await copy.query(statement)
    await copy.close()
  }
  const took = process.hrtime.bigint() - began
  const row = last?.rows?.[0]
  console.log(JSON.stringify({ ns: Number(took), value: row ? Object.values(row)[0] : null }))
}
await base?.close()
