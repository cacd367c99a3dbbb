// pg-parallel: which of several servers it connects to, by target_session_attrs.
// node pg-parallel.mjs PACKAGE CONNECTION_STRING
const { PgParallel } = await import(process.argv[2])
const client = new PgParallel({ connectionString: process.argv[3] })
const { rows } = await client.query("SELECT current_setting('unix_socket_directories') AS folder")
console.log(rows[0].folder)
await client.shutdown()
