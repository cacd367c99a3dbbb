/** The relay's side: see {@link Relay}. It hears what the worker threads say and says it again, to the main thread. */
import { parentPort } from 'node:worker_threads'
import { moved, type ThreadMessage } from './protocol'
import type { RelayNews, RelayOrder } from './relay'

parentPort?.on('message', ({ id, port }: RelayOrder) => {
  const tell = (news: RelayNews): void => {
    parentPort?.postMessage(news, news.message ? moved(news.message) : [])
  }
  port.on('message', (message: ThreadMessage) => {
    tell({ id, message })
  })
  port.on('close', () => {
    tell({ id })
  })
})
