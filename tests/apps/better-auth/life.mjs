// better-auth: migrations twice, sign up, sign in, a session, a second user of the same address, sign out.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.env.APP_BUILD}/package.json`);
const { betterAuth } = await import(pathToFileURL(`${process.env.APP_BUILD}/node_modules/better-auth/dist/index.mjs`));
const { getMigrations } = await import(pathToFileURL(`${process.env.APP_BUILD}/node_modules/better-auth/dist/db/get-migration.mjs`));
const { Pool } = require('pg');

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
const options = {
  database: pool,
  secret: 'a secret of the test that is long enough',
  baseURL: 'http://localhost:3000',
  emailAndPassword: { enabled: true },
  logger: { disabled: true },
  telemetry: { enabled: false },
};
const said = (what, ...values) => console.log(`${what}:`, JSON.stringify(values));
for (const round of [1, 2]) {
  const { toBeCreated, toBeAdded, runMigrations, compileMigrations } = await getMigrations(options);
  said('migration', round, toBeCreated.map((t) => [t.table, Object.keys(t.fields)]), toBeAdded.map((t) => t.table));
  if (round === 1) console.log(await compileMigrations());
  await runMigrations();
}
const columns = await pool.query("SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, ordinal_position");
for (const row of columns.rows) said('column', Object.values(row));
const auth = betterAuth(options);
const failing = async (what, call) => {
  try {
    await call();
    said(what, 'no error');
  } catch (e) {
    said(what, e.status ?? e.code, e.body?.code ?? e.message);
  }
};
const up = await auth.api.signUpEmail({ body: { email: 'a@example.org', password: 'password 1234', name: 'A' } });
said('signed up', up.user.email, up.user.name, up.user.emailVerified, Boolean(up.token));
await failing('again', () => auth.api.signUpEmail({ body: { email: 'a@example.org', password: 'password 1234', name: 'B' } }));
const answer = await auth.api.signInEmail({ body: { email: 'a@example.org', password: 'password 1234' }, asResponse: true });
const headers = new Headers({ cookie: answer.headers.get('set-cookie').split(';')[0] });
said('signed in', answer.status);
const session = await auth.api.getSession({ headers });
said('session', session.user.email, session.session.expiresAt > new Date());
await failing('wrong password', () => auth.api.signInEmail({ body: { email: 'a@example.org', password: 'no password' } }));
said('updated', (await auth.api.updateUser({ body: { name: 'Anna' }, headers })).status);
said('sessions', (await auth.api.listSessions({ headers })).length);
await auth.api.changePassword({ body: { currentPassword: 'password 1234', newPassword: 'password 5678', revokeOtherSessions: true }, headers });
said('revoked', (await pool.query('SELECT count(*)::int AS n FROM session')).rows);
await auth.api.signOut({ headers });
said('left', (await pool.query('SELECT name, email, "emailVerified" FROM "user"')).rows, (await pool.query('SELECT "providerId", "userId" IS NOT NULL AS of_user FROM account')).rows);
await pool.end();
