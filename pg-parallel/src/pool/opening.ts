/** From several servers to one connection: which of them is asked in which order, and what a new connection goes through. */
import { ErrorUtils, PgParallelError } from '../errors'
import type { PoolOptions, Settings } from '../options'
import type { Opening } from '../wire/connect'
import { Connection } from './connection'
import { HeldClient } from './held'
import { accepts } from './hosts'

/** Connects to the first server that answers and is of the kind wanted. What is being opened is in `connecting` meanwhile. */
export async function openAny(settings: Settings, connecting: Set<Opening>): Promise<Connection> {
  const { client: config, session, hosts, connectTimeoutMs, cancelTimeoutMs } = settings
  const { addresses, target } = hosts
  let failure: PgParallelError | undefined
  for (const secondRound of target === 'prefer-standby' ? [false, true] : [false]) {
    for (const address of addresses) {
      try {
        const connection = await Connection.open(
          { ...config, connectionTimeoutMillis: connectTimeoutMs, session },
          address,
          connecting,
        )
        try {
          if (target === 'any' || accepts(target, await connection.role(), secondRound)) {
            await prepare(connection, config, cancelTimeoutMs)
            return connection
          }
        } catch (error) {
          connection.destroy()
          throw error
        }
        await connection.close(connectTimeoutMs)
        throw new PgParallelError(`no server with target_session_attrs "${target}" was found`, {
          category: 'read-only',
          transient: true,
          infrastructure: true,
        })
      } catch (error) {
        // A full server says more than one that is not there.
        const wrapped = ErrorUtils.wrap(error)
        if (!failure || failure.category === 'connection') failure = wrapped
      }
    }
  }
  throw failure ?? new PgParallelError('no hosts to connect to', { category: 'configuration' })
}

/** What `pg.Pool` does with a new client before anybody gets it. */
async function prepare(connection: Connection, config: PoolOptions, cancelTimeoutMs: number): Promise<void> {
  const { onConnect, verify } = config
  if (!onConnect && !verify) return
  const client = new HeldClient(connection, cancelTimeoutMs)
  await onConnect?.(client)
  if (verify) {
    await new Promise<void>((resolve, reject) => {
      verify(client, (error) => {
        if (error) reject(error)
        else resolve()
      })
    })
  }
  client.letGo()
}
