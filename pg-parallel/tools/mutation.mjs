// Breaks the built code at places where a mistake would lose or double somebody's data, or hold something for ever, and
// looks whether a test notices. A mutation that no test notices fails the run, and so does one whose place is gone.
//
// usage: node tools/mutation.mjs [WORD…]    after `npx tsc -p tsconfig.json`; words choose mutations whose name has one of them
//
// Each place is a text in `build/src`, which is put back afterwards. The tests are those of tools/test.mjs, as
// "part file"; they are run one after the other until one fails. Tests that do not end in time have noticed, too.
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { clearTimeout, setTimeout } from 'node:timers'

const LIMIT_MS = 240_000

const MUTATIONS = [
  {
    name: 'a lost COMMIT is taken for not done',
    file: 'transaction.js',
    from: "unknown = fate === 'unknown';",
    to: 'unknown = false;',
    tests: ['unit transaction', 'postgres faults'],
  },
  {
    name: 'an answer from another epoch of the server counts',
    file: 'fate.js',
    from: 'if (now?.recovered !== epoch.recovered)',
    to: 'if (!now)',
    tests: ['unit fate'],
  },
  {
    name: 'an answer after a restart counts without a proof',
    file: 'fate.js',
    from: 'if (now.started === epoch.started)',
    to: 'if (true)',
    tests: ['unit fate'],
  },
  {
    name: 'COMMIT is sent although the time limit has passed',
    file: 'query.js',
    from: 'for (const deadline of deadlines)\n            deadline?.check();\n        if (!connection.usable)',
    to: 'if (!connection.usable)',
    tests: ['unit transaction'],
  },
  {
    name: 'what was sent counts as not run',
    file: 'policy/verdict.js',
    from: 'if (!about.sent)',
    to: 'if (about.sent)',
    tests: ['unit verdict'],
  },
  {
    name: 'an answer that could not be read makes a statement run again',
    file: 'policy/verdict.js',
    from: ' && !about.answered',
    to: '',
    tests: ['unit verdict'],
  },
  {
    name: 'a function of the application is taken for the built-in of its name',
    file: 'policy/replay.js',
    from: "(qualifier !== undefined && qualifier !== 'pg_catalog')",
    to: 'false',
    tests: ['unit replay'],
  },
  {
    name: 'writes share a connection with others',
    file: 'query.js',
    from: '!(core.settings.pipelineWrites || nature.readOnly)',
    to: 'false',
    tests: ['unit query', 'unit pool'],
  },
  {
    name: 'a statement with a time limit shares its connection, whose statements its cancel request hits',
    file: 'query.js',
    from: 'this.#deadline !== undefined || !(core',
    to: '!(core',
    tests: ['unit query', 'postgres query.test'],
  },
  {
    name: 'nobody rolls back before the next user',
    file: 'pool/pool.js',
    from: "if (status !== 'I')",
    to: 'if (false)',
    tests: ['unit pool', 'postgres query.test', 'postgres libraries'],
  },
  {
    name: 'a connection is given on while a cancel request is on its way',
    file: 'pool/pool.js',
    from: 'if (connection.quiet || !connection.usable)',
    to: 'if (true)',
    tests: ['unit pool', 'unit query', 'postgres query.test'],
  },
  {
    name: 'newcomers pass the queue',
    file: 'pool/pool.js',
    from: "this.#queue.size === 0 && waiter.kind !== 'slot'",
    to: "waiter.kind !== 'slot'",
    tests: ['unit pool'],
  },
  {
    name: 'a connection is used once more than maxUses',
    file: 'pool/pool.js',
    from: 'connection.uses >= this.#settings.maxUses',
    to: 'connection.uses > this.#settings.maxUses',
    tests: ['unit pool'],
  },
  {
    name: 'what a full server allows does not rise again',
    file: 'pool/pool.js',
    from: 'this.#ceiling = this.#used + 2;',
    to: 'void 0;',
    tests: ['unit pool'],
  },
  {
    name: 'a lane with a cancel request on its way is used',
    file: 'pool/pool.js',
    from: ' || lane.cancelled ||',
    to: ' ||',
    tests: ['unit pool'],
  },
  {
    name: 'a lane takes more than its pipeline holds',
    file: 'pool/pool.js',
    from: 'load = Infinity;',
    to: 'void 0;',
    tests: ['unit pool'],
  },
  {
    name: 'the slot of a thread that died with a connection is lost',
    file: 'workers/slots.js',
    from: 'this.#core.pool.withdraw(thread.waiter);\n        this.giveBack(thread);',
    to: 'this.#core.pool.withdraw(thread.waiter);',
    tests: ['unit workers/pool', 'postgres workers'],
  },
  {
    name: 'listeners stay on the caller’s signal',
    file: 'policy/deadline.js',
    from: "signal.removeEventListener('abort', known.listener);",
    to: 'void 0;',
    tests: ['unit deadline'],
  },
  {
    name: 'results of an earlier trial count for the breaker',
    file: 'policy/breaker.js',
    from: 'told || generation !== this.#generation',
    to: 'told',
    tests: ['unit breaker'],
  },
  {
    name: 'each statement on a lost connection counts for the breaker',
    file: 'policy/breaker.js',
    from: 'if (origin === this.#counted)',
    to: 'if (false)',
    tests: ['unit breaker'],
  },
  {
    name: 'the prepared statement that a pooler has taken away is not sent again',
    file: 'wire/statement.js',
    from: 'this.lostStatement = true;',
    to: 'void 0;',
    tests: ['unit wire/statement', 'unit query'],
  },
]

/** Does a part of the tests pass? */
const passes = (part) =>
  new Promise((resolve) => {
    const [target, only] = part.split(' ')
    const tests = spawn(process.execPath, ['tools/test.mjs', target, '--only', only], {
      stdio: 'ignore',
      detached: true,
    })
    const timer = setTimeout(() => {
      process.kill(-tests.pid, 'SIGKILL')
    }, LIMIT_MS)
    tests.once('exit', (code) => {
      clearTimeout(timer)
      resolve(code === 0)
    })
  })

const words = process.argv.slice(2)
const chosen = MUTATIONS.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))
const survivors = []
for (const { name, file, from, to, tests } of chosen) {
  const path = `build/src/${file}`
  const before = readFileSync(path, 'utf8')
  if (before.split(from).length !== 2) {
    survivors.push(name)
    console.log(`GONE     ${name}: ${file} does not have its place once`)
    continue
  }
  writeFileSync(
    path,
    before.replace(from, () => to),
  )
  let noticed
  try {
    for (const part of tests) {
      if (await passes(part)) continue
      noticed = part
      break
    }
  } finally {
    writeFileSync(path, before)
  }
  if (noticed === undefined) survivors.push(name)
  console.log(noticed === undefined ? `SURVIVED ${name}` : `noticed  ${name} (${noticed})`)
}
console.log(`${chosen.length - survivors.length} of ${chosen.length} mutations were noticed`)
process.exitCode = survivors.length === 0 ? 0 : 1
