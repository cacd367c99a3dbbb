// Kysely: migrations, introspection, queries, transactions with savepoints, streaming.
import assert from 'node:assert/strict';
import { Kysely, Migrator, PostgresDialect, sql } from 'kysely';
import pg from 'pg';

const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ max: 3 }) }) });
const migrations = {
  a_first: {
    up: async (d) => {
      await d.schema.createType('species').asEnum(['cat', 'dog']).execute();
      await d.schema.createTable('person').addColumn('id', 'serial', (c) => c.primaryKey()).addColumn('first_name', 'varchar(50)', (c) => c.notNull()).addColumn('born', 'date').addColumn('made', 'timestamptz', (c) => c.defaultTo(sql`now()`).notNull()).execute();
      await d.schema.createTable('pet').addColumn('id', 'integer', (c) => c.primaryKey().generatedByDefaultAsIdentity()).addColumn('name', 'text', (c) => c.notNull().unique()).addColumn('owner_id', 'integer', (c) => c.references('person.id').onDelete('cascade').notNull())
        .addColumn('species', sql`species`, (c) => c.notNull()).addColumn('data', 'jsonb').addColumn('toys', sql`text[]`).addColumn('weight', 'numeric(6, 2)', (c) => c.check(sql`weight > 0`)).addUniqueConstraint('one_name', ['owner_id', 'name']).execute();
      await d.schema.createIndex('pet_owner').on('pet').column('owner_id').execute();
      await d.schema.createView('cats').as(d.selectFrom('pet').selectAll().where('species', '=', 'cat')).execute();
    },
    down: async (d) => {
      await d.schema.dropView('cats').execute();
      await d.schema.dropTable('pet').execute();
      await d.schema.dropTable('person').execute();
      await d.schema.dropType('species').execute();
    },
  },
  b_second: {
    up: (d) => d.schema.alterTable('person').addColumn('nick', 'varchar(10)', (c) => c.defaultTo('none').notNull()).alterColumn('first_name', (c) => c.setDataType('text')).execute(),
    down: (d) => d.schema.alterTable('person').dropColumn('nick').execute(),
  },
};
const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
const { error, results } = await migrator.migrateToLatest();
assert.ifError(error);
assert.equal(results.length, 2);
assert.ifError((await migrator.migrateDown()).error);
assert.ifError((await migrator.migrateToLatest()).error);

const tables = await db.introspection.getTables();
assert.deepEqual(tables.map((t) => [t.name, t.isView]), [['cats', true], ['person', false], ['pet', false]]);
const person = tables.find((t) => t.name === 'person').columns.map((c) => [c.name, c.dataType, c.isNullable, c.hasDefaultValue, c.isAutoIncrementing]);
assert.deepEqual(person, [['id', 'int4', false, true, true], ['first_name', 'text', false, false, false], ['born', 'date', true, false, false], ['made', 'timestamptz', false, true, false], ['nick', 'varchar', false, true, false]]);
assert.deepEqual((await db.introspection.getSchemas()).map((s) => s.name).filter((n) => n === 'public' || n === 'pg_catalog').sort(), ['pg_catalog', 'public']);

const { id } = await db.insertInto('person').values({ first_name: 'Ann', born: '2000-02-29' }).returning('id').executeTakeFirstOrThrow();
await db.insertInto('person').values(Array.from({ length: 9 }, (_, i) => ({ first_name: `p${i}` }))).execute();
await db.insertInto('pet').values([{ name: 'Tom', owner_id: id, species: 'cat', data: JSON.stringify({ age: 3, l: [1, 2] }), toys: ['ball', 'a,b'], weight: '3.50' }, { name: 'Rex', owner_id: id, species: 'dog' }]).execute();
const joined = await db.selectFrom('person as p').leftJoin('pet', 'pet.owner_id', 'p.id').select(({ fn, eb }) => ['p.first_name', fn.count('pet.id').as('n'), fn.agg('array_agg', ['pet.name']).orderBy('pet.name').as('names'), eb.case().when('p.id', '=', id).then('me').else('other').end().as('who')])
  .groupBy('p.id').orderBy('p.id').limit(2).execute();
assert.deepEqual(joined, [{ first_name: 'Ann', n: '2', names: ['Rex', 'Tom'], who: 'me' }, { first_name: 'p0', n: '0', names: [null], who: 'other' }]);
const nested = await db.selectFrom('person').select((eb) => ['first_name', sql`coalesce((select json_agg(agg) from (${eb.selectFrom('pet').select(['pet.name', 'pet.species']).whereRef('pet.owner_id', '=', 'person.id').orderBy('pet.name')}) as agg), '[]')`.as('pets')]).where('id', '=', id).executeTakeFirst();
assert.deepEqual(nested, { first_name: 'Ann', pets: [{ name: 'Rex', species: 'dog' }, { name: 'Tom', species: 'cat' }] });
const tom = await db.selectFrom('cats').select((eb) => ['toys', 'weight', eb.ref('data', '->>').key('age').as('age'), sql`data #>> '{l,1}'`.as('second')]).executeTakeFirst();
assert.deepEqual(tom, { toys: ['ball', 'a,b'], weight: '3.50', age: '3', second: '2' });
const up = await db.insertInto('pet').values({ name: 'Tom', owner_id: id, species: 'dog' }).onConflict((o) => o.column('name').doUpdateSet((eb) => ({ species: eb.ref('excluded.species'), weight: eb('pet.weight', '+', 1) }))).returning(['species', 'weight']).executeTakeFirst();
assert.deepEqual(up, { species: 'dog', weight: '4.50' });
const moved = await db.with('gone', (q) => q.deleteFrom('pet').where('name', '=', 'Rex').returning(['name', 'owner_id'])).insertInto('person').columns(['first_name']).expression((q) => q.selectFrom('gone').select('name')).returning('first_name').execute();
assert.deepEqual(moved, [{ first_name: 'Rex' }]);
const changed = await db.updateTable('pet').from('person').set((eb) => ({ name: sql`${eb.ref('pet.name')} || ' of ' || ${eb.ref('person.first_name')}` })).whereRef('pet.owner_id', '=', 'person.id').returning('pet.name').execute();
assert.deepEqual(changed, [{ name: 'Tom of Ann' }]);
const page = await db.selectFrom('person').select(['first_name', (eb) => eb.fn.agg('rank').over((o) => o.orderBy('first_name', 'desc')).as('r')]).distinct().orderBy('r').limit(2).offset(1).execute();
assert.deepEqual(page, [{ first_name: 'p7', r: '2' }, { first_name: 'p6', r: '3' }]);
await assert.rejects(db.insertInto('pet').values({ name: 'x', owner_id: 1, species: 'cow' }).execute(), (e) => e.code === '22P02');
await assert.rejects(db.insertInto('pet').values({ name: 'x', owner_id: 1, species: 'cat', weight: -1 }).execute(), (e) => e.code === '23514' && e.constraint === 'pet_weight_check');
await db.transaction().setIsolationLevel('serializable').execute((t) => t.deleteFrom('person').where('first_name', '=', 'p1').execute());
const trx = await db.startTransaction().execute();
const sp = await trx.savepoint('one').execute();
await sp.deleteFrom('person').execute();
await (await sp.rollbackToSavepoint('one').execute()).commit().execute();
assert.equal((await db.selectFrom('person').select((e) => e.fn.countAll().as('n')).executeTakeFirst()).n, '10');
assert.ok((await db.selectFrom('person').selectAll().where('id', '=', 1).explain()).length);
assert.ifError((await migrator.migrateTo('a_first')).error);
await db.destroy();
console.log('ok');
