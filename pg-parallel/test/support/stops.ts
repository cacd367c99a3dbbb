/** What a file of unit tests has opened is closed when its tests are through. */
import { after } from 'node:test'
import { PgParallelError } from '../../src/errors'

/** Called in this order, one after the other. */
export const stops: (() => unknown)[] = []

after(async () => {
  for (const stop of stops) await stop()
})

/** Why what is still waiting then does not get what it waits for. */
export const closed = new PgParallelError('closed', { category: 'closed' })
