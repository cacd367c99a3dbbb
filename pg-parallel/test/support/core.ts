/** What unit tests of calls have in common: an instance's inside before a server that the test answers for. */
import { Core } from '../../src/core'
import { resolveSettings, type PgParallelOptions } from '../../src/options'
import { FakeServer, type Answer, type FakeSession } from './fake'
import { closed, stops } from './stops'

/** One connection, up to three attempts in quick succession; closed with the file. */
export async function onFake(
  answer: (text: string, session: FakeSession) => Answer | undefined = () => undefined,
  options: PgParallelOptions = {},
): Promise<{ fake: FakeServer; core: Core }> {
  const fake = await FakeServer.start(answer)
  const settings = resolveSettings({
    ...fake.options,
    max: 1,
    retry: { initialDelayMs: 1, maxAttempts: 3 },
    ...options,
  })
  const core = new Core(settings, {})
  stops.push(async () => {
    core.pool.abort(closed)
    await core.pool.close(closed)
    await fake.stop()
  })
  return { fake, core }
}
