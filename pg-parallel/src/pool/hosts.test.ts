import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accepts, resolveHosts, type HostAddress, type TargetSessionAttrs } from './hosts'

const addresses = (config: object, hosts?: HostAddress[]): readonly HostAddress[] =>
  resolveHosts(config, hosts, undefined).plan.addresses

test('addresses come from a list, a connection string, or host and port, as libpq pairs them', () => {
  assert.deepEqual(addresses({}, [{ host: 'a' }, { host: 'b', port: 1 }]), [{ host: 'a' }, { host: 'b', port: 1 }])
  assert.deepEqual(addresses({ connectionString: 'postgres://u:p@a:1,b:2,[::1]:3/d' }), [
    { host: 'a', port: 1 },
    { host: 'b', port: 2 },
    { host: '::1', port: 3 },
  ])
  assert.deepEqual(addresses({ connectionString: 'postgresql://a,b/d' }), [{ host: 'a' }, { host: 'b' }])
  assert.deepEqual(addresses({ connectionString: 'postgres://u@h:7/d' }), [{ host: 'h', port: 7 }])
  assert.deepEqual(addresses({ host: 'a,b', port: 5 }), [
    { host: 'a', port: 5 },
    { host: 'b', port: 5 },
  ])
  assert.deepEqual(addresses({ host: 'a,b', port: '1,2' }), [
    { host: 'a', port: 1 },
    { host: 'b', port: 2 },
  ])
  assert.deepEqual(addresses({ connectionString: 'postgres:///d?host=/tmp/x&port=9' }), [{ host: '/tmp/x', port: 9 }])
  assert.throws(() => addresses({ host: 'a,b', port: '1,2,3' }), /could not match 3 port numbers to 2 hosts/)
  assert.throws(() => addresses({ host: 'a', port: 70_000 }), /invalid port number/)
  assert.throws(() => addresses({}, []), /must not be empty/)
})

test('the rest of the connection string is kept, and wins', () => {
  const { client, plan } = resolveHosts(
    { connectionString: 'postgres://u:p%40@a:1,b:2/d?target_session_attrs=primary&application_name=x', user: 'other' },
    undefined,
    undefined,
  )
  assert.equal(plan.target, 'primary')
  assert.equal(client.user, 'u')
  assert.equal(client.password, 'p@')
  assert.equal(client.database, 'd')
  assert.equal(client.application_name, 'x')
  assert(!('host' in client) && !('connectionString' in client))
})

test('the environment counts where nothing else is said', () => {
  const before = { ...process.env }
  Object.assign(process.env, { PGHOST: 'x,y', PGPORT: '1', PGTARGETSESSIONATTRS: 'standby' })
  try {
    const { plan } = resolveHosts({}, undefined, undefined)
    assert.deepEqual(plan, {
      addresses: [
        { host: 'x', port: 1 },
        { host: 'y', port: 1 },
      ],
      target: 'standby',
    })
  } finally {
    process.env = before
  }
})

test('which server is of the kind asked for', () => {
  const primary = { standby: false, readOnly: false }
  const readOnly = { standby: false, readOnly: true }
  const standby = { standby: true, readOnly: false }
  const table: [TargetSessionAttrs, boolean, boolean, boolean][] = [
    ['any', true, true, true],
    ['read-write', true, false, false],
    ['read-only', false, true, true],
    ['primary', true, true, false],
    ['standby', false, false, true],
    ['prefer-standby', false, false, true],
  ]
  for (const [target, ...expected] of table) {
    assert.deepEqual(
      [primary, readOnly, standby].map((role) => accepts(target, role, false)),
      expected,
      target,
    )
  }
  assert(accepts('prefer-standby', primary, true))
})
