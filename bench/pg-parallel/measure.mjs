// Runs operations and turns time stamps into figures.

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

/** Nearest rank, safe for any length. */
export function percentile(sorted, share) {
  if (sorted.length === 0) return NaN
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))]
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** `operations` calls, `concurrency` at a time. `kindOf` names a call's kind; each kind has a p99 of its own. */
export async function load(operations, concurrency, operation, kindOf = () => 'call') {
  const times = []
  const byKind = new Map()
  const errors = new Map()
  let next = 0
  const cpu = process.cpuUsage()
  const began = performance.now()
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (let n = next++; n < operations; n = next++) {
        const start = performance.now()
        try {
          await operation(n)
          const took = performance.now() - start
          times.push(took)
          const kind = kindOf(n)
          if (!byKind.has(kind)) byKind.set(kind, [])
          byKind.get(kind).push(took)
        } catch (error) {
          const kind = error.code ?? error.message
          errors.set(kind, (errors.get(kind) ?? 0) + 1)
        }
      }
    }),
  )
  const seconds = (performance.now() - began) / 1000
  // Of this process, its threads included, for each operation that was done.
  const used = process.cpuUsage(cpu)
  times.sort((a, b) => a - b)
  return {
    opsPerSecond: times.length / seconds,
    cpuMicroseconds: (used.user + used.system) / times.length,
    p50: percentile(times, 0.5),
    p95: percentile(times, 0.95),
    p99: percentile(times, 0.99),
    ...Object.fromEntries([...byKind].map(([kind, list]) => [`${kind}P99`, percentile(list.sort((a, b) => a - b), 0.99)])),
    errors: operations - times.length,
    kinds: Object.fromEntries(errors),
  }
}

/**
 * `operations` calls, begun at a fixed rate whether or not earlier ones have ended, as the requests of a service come. A call's time counts
 * from when it was due, also where the event loop came late to it. `kindOf` names a call's kind; each kind has percentiles of its own.
 */
export async function paced(operations, perSecond, kindOf, operation) {
  const times = new Map()
  let errors = 0
  const began = performance.now()
  const calls = []
  for (let n = 0; n < operations; n++) {
    const due = began + (n * 1000) / perSecond
    do await new Promise(setImmediate)
    while (performance.now() < due)
    calls.push(
      operation(n).then(
        () => {
          const kind = kindOf(n)
          if (!times.has(kind)) times.set(kind, [])
          times.get(kind).push(performance.now() - due)
        },
        () => {
          errors++
        },
      ),
    )
  }
  await Promise.all(calls)
  const result = { opsPerSecond: (operations - errors) / ((performance.now() - began) / 1000), errors }
  const all = []
  for (const [kind, list] of times) {
    all.push(...list)
    result[`${kind}P99`] = percentile(
      list.sort((a, b) => a - b),
      0.99,
    )
  }
  result.p99 = percentile(
    all.sort((a, b) => a - b),
    0.99,
  )
  return result
}

/** Operations for so many milliseconds. */
export async function loadFor(ms, concurrency, operation) {
  const end = performance.now() + ms
  let done = 0
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (performance.now() < end) {
        await operation(done)
        done++
      }
    }),
  )
  return done / (ms / 1000)
}
