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

/** `operations` calls, `concurrency` at a time. */
export async function load(operations, concurrency, operation) {
  const times = []
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
          times.push(performance.now() - start)
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
    errors: operations - times.length,
    kinds: Object.fromEntries(errors),
  }
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
