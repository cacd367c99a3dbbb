/** `batch`: several statements in one round trip, which take effect all together or not at all. */
import type { Core } from './core'
import { PgParallelError } from './errors'
import type { CallOptions } from './options'
import { refusedAlone } from './policy/control'
import { natureOf, natureOfAll } from './policy/replay'
import type { Connection } from './pool/connection'
import { checkedConfig, checkSendable, QueryCall, refuse, type QueryCallConfig, type Work } from './query'
import { checkedRows, checkSchema } from './rows'
import type { QueryResult } from './types'
import { Batch } from './wire/batch'
import type { StatementEnd } from './wire/statement'

/** A statement of a batch: a text, a query object, or what `sql` makes. */
export type BatchItem = string | QueryCallConfig

/** Reads one of the statements. */
function configOf(item: BatchItem): QueryCallConfig {
  const config = typeof item === 'string' ? { text: item } : checkedConfig(item)
  checkSendable(config.text, config.name, config.values)
  refuse(refusedAlone(config.text))
  if ((config as { schema?: unknown }).schema !== undefined) checkSchema(config.schema)
  const { first } = natureOf(config.text)
  if (first === 'copy') {
    throw new PgParallelError('COPY cannot be part of a batch: use copyFrom() and copyTo()', {
      category: 'configuration',
    })
  }
  return config
}

/** `batch` of an instance and of a worker's client. */
export async function callBatch(
  core: Core,
  items: readonly BatchItem[],
  options: CallOptions | undefined,
): Promise<QueryResult[]> {
  if (!Array.isArray(items)) {
    throw new PgParallelError('batch takes a list of statements', { category: 'configuration' })
  }
  const configs = (items as readonly BatchItem[]).map(configOf)
  if (configs.length === 0) return []
  let failed: number | undefined
  const texts = configs.map(({ text }) => text)
  const work: Work = {
    nature: natureOfAll(texts),
    submit: (connection: Connection, done: StatementEnd) => {
      const batch = new Batch(configs, (error, results, index) => {
        failed = index
        done(error, results)
      })
      connection.send(batch)
      return batch
    },
  }
  try {
    const results = (await new Promise<unknown>((resolve, reject) => {
      new QueryCall(core, { text: texts.join(';\n') }, undefined, options, resolve, reject, work)
    })) as QueryResult[]
    for (const [index, { schema, text }] of configs.entries()) {
      if (schema !== undefined) results[index] = await checkedRows(results[index]!, schema, text)
    }
    return results
  } catch (error) {
    // The error was made where the answer came in; its reader wants to know where the question was asked.
    if (!(error instanceof PgParallelError)) throw error
    Error.captureStackTrace(error)
    throw failed === undefined ? error : Object.assign(error, { batchIndex: failed })
  }
}
