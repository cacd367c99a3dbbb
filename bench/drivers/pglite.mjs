// PGlite behind its own socket server: pglite.mjs FOLDER SOCKET. Says `ready` when it answers; ends when its standard input does.
// It has one session; more connections than one are let in, since one that was closed is there for a moment longer.
import { PGlite } from '@electric-sql/pglite'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'

const [folder, path] = process.argv.slice(2)
const db = await PGlite.create(folder)
const server = new PGLiteSocketServer({ db, path, maxConnections: 8 })
await server.start()
console.log('ready')
process.stdin.resume()
process.stdin.on('end', async () => {
  await server.stop()
  await db.close()
  process.exit(0)
})
