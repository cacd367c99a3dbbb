// Knex: schema builder (creating, altering, inspecting), migrations, queries, transactions, upserts, streams.
import assert from 'node:assert/strict';
import Knex from 'knex';

const steps = {
  first: {
    async up(k) {
      await k.schema.createSchemaIfNotExists('app');
      await k.schema.createTable('makers', (t) => {
        t.increments('id');
        t.string('name', 40).notNullable().unique();
        t.timestamps(true, true);
        t.comment('who makes');
      });
      await k.schema.withSchema('app').createTable('things', (t) => {
        t.uuid('id').primary().defaultTo(k.raw('gen_random_uuid()'));
        t.integer('maker_id').unsigned().references('id').inTable('public.makers').onDelete('CASCADE').onUpdate('CASCADE');
        t.enu('state', ['new', 'done'], { useNative: true, enumName: 'thing_state', schemaName: 'app' }).defaultTo('new');
        t.enu('kind', ['a', 'b']);
        t.decimal('price', 10, 2).notNullable().defaultTo(0);
        t.float('weight');
        t.double('exact');
        t.boolean('active').defaultTo(true);
        t.date('made');
        t.dateTime('at', { precision: 3 });
        t.time('opens');
        t.jsonb('extra').defaultTo('{}');
        t.specificType('tags', 'text[]');
        t.binary('raw');
        t.bigInteger('big');
        t.text('note');
        t.check('?? >= 0', ['price'], 'price_positive');
        t.index(['maker_id', 'made'], 'things_made');
        t.unique(['maker_id', 'note'], { indexName: 'things_one', nullsNotDistinct: false });
      });
    },
    async down(k) {
      await k.schema.withSchema('app').dropTable('things');
      await k.schema.dropTable('makers');
      await k.raw('DROP SCHEMA app CASCADE');
    },
  },
  second: {
    async up(k) {
      await k.schema.alterTable('makers', (t) => {
        t.string('code', 5).nullable();
        t.renameColumn('name', 'title');
      });
      await k.schema.alterTable('makers', (t) => {
        t.string('title', 80).notNullable().alter();
        t.index('code');
        t.setNullable('title');
        t.dropNullable('title');
      });
      await k.schema.withSchema('app').alterTable('things', (t) => {
        t.dropColumn('weight');
        t.dropIndex(['maker_id', 'made'], 'things_made');
        t.bigInteger('views').notNullable().defaultTo(0);
      });
    },
    async down(k) {
      await k.schema.withSchema('app').alterTable('things', (t) => {
        t.dropColumn('views');
        t.float('weight');
        t.index(['maker_id', 'made'], 'things_made');
      });
      await k.schema.alterTable('makers', (t) => {
        t.dropColumn('code');
        t.renameColumn('title', 'name');
      });
    },
  },
};
const source = { getMigrations: async () => Object.keys(steps), getMigrationName: (s) => s, getMigration: async (s) => steps[s] };
const k = Knex({ client: 'pg', connection: { host: process.env.PGHOST, port: +process.env.PGPORT, user: process.env.PGUSER, database: process.env.PGDATABASE }, pool: { min: 0, max: 4 }, migrations: { migrationSource: source } });

assert.deepEqual((await k.migrate.latest())[1], ['first', 'second']);
assert.deepEqual((await k.migrate.latest())[1], []);
await k.migrate.rollback();
await k.migrate.latest();
assert.equal((await k.migrate.list())[0].length, 2);
assert.equal(await k.schema.hasTable('makers'), true);
assert.equal(await k.schema.hasTable('nothing'), false);
assert.equal(await k.schema.hasColumn('makers', 'title'), true);
const info = await k('makers').columnInfo();
assert.deepEqual(info.title, { type: 'character varying', maxLength: 80, nullable: false, defaultValue: null });
assert.deepEqual(info.created_at, { type: 'timestamp with time zone', maxLength: null, nullable: false, defaultValue: 'CURRENT_TIMESTAMP' });

const makers = await k('makers').insert([{ title: 'acme', code: 'a' }, { title: 'bolt' }]).returning(['id', 'title', 'code']);
assert.deepEqual(makers, [{ id: 1, title: 'acme', code: 'a' }, { id: 2, title: 'bolt', code: null }]);
const things = () => k.withSchema('app').table('things');
const at = new Date('2024-01-02T03:04:05.678Z');
const [one] = await things().insert({ maker_id: 1, state: 'done', kind: 'a', price: '12.50', exact: 0.1, made: '2024-02-29', at, opens: '08:30', extra: { a: [1, { b: null }] }, tags: ['x', 'y,"z'], raw: Buffer.from([0, 255]), big: '9007199254740993', note: "it's" }).returning('*');
assert.equal(one.price, '12.50');
assert.deepEqual([one.extra, one.tags, [...one.raw], one.big, one.at, one.active, one.views, one.opens], [{ a: [1, { b: null }] }, ['x', 'y,"z'], [0, 255], '9007199254740993', at, true, '0', '08:30:00']);
await k.batchInsert('app.things', Array.from({ length: 250 }, (_, i) => ({ maker_id: 2, price: i, note: `n${i}`, made: `2024-0${1 + (i % 3)}-01`, extra: { n: i } })), 50);
assert.deepEqual(await things().where('maker_id', 2).whereBetween('price', [10, 12]).orderBy('price').pluck('note'), ['n10', 'n11', 'n12']);
const groups = await k('app.things as t').join('makers as m', 'm.id', 't.maker_id').select('m.title').count('* as n').sum('t.price as s').max('t.made as last').groupBy('m.id').having(k.raw('count(*) > 1')).orderBy('m.title');
assert.deepEqual(groups.map((g) => [g.title, g.n, g.s]), [['bolt', '250', '31125.00']]);
assert.equal((await k('app.things').whereJsonPath('extra', '$.n', '>', 247)).length, 2);
assert.equal((await k('app.things').whereJsonSupersetOf('extra', { n: 7 })).length, 1);
assert.deepEqual(await k('app.things').jsonExtract('extra', '$.a[0]', 'first').where('maker_id', 1).first(), { first: 1 });
assert.equal(await k('app.things').where('note', 'ilike', 'N1_').whereIn('maker_id', k('makers').select('id').where('title', 'bolt')).count().first().then((r) => r.count), '10');
const ranked = await k.with('r', k('app.things').select('note').rowNumber('n', (o) => o.orderBy('price', 'desc').partitionBy('maker_id'))).from('r').where('n', 2).select('note');
assert.deepEqual(ranked, [{ note: 'n248' }]);
const rec = await k.withRecursive('c', (q) => q.select(k.raw('1 as n')).from(k.raw('(select 1) as x')).unionAll((u) => u.select(k.raw('n + 1')).from('c').where('n', '<', 5))).from('c').sum('n as s');
assert.deepEqual(rec, [{ s: '15' }]);
await k('makers').insert({ title: 'acme', code: 'new' }).onConflict('title').merge(['code']);
await k('makers').insert({ title: 'acme', code: 'no' }).onConflict('title').ignore();
assert.equal((await k('makers').where({ title: 'acme' }).first('code')).code, 'new');
assert.equal(await things().where('maker_id', 2).where('price', '<', 5).update({ note: k.raw("note || '!'"), views: k.raw('?? + 1', ['views']) }), 5);
assert.equal(await things().where('note', 'n0!').increment('views', 5), 1);
assert.deepEqual((await things().where('note', 'n0!').first()).views, '6');
assert.equal((await k('app.things').distinctOn('maker_id').orderBy(['maker_id', { column: 'price', order: 'desc' }]).select('note'))[1].note, 'n249');
await assert.rejects(k('makers').insert({ title: 'acme' }), (e) => e.code === '23505' && e.constraint === 'makers_name_unique');
await assert.rejects(things().insert({ price: -1 }), (e) => e.code === '23514' && e.constraint === 'price_positive');
await assert.rejects(things().insert({ kind: 'c' }), (e) => e.code === '23514' && e.constraint === 'things_kind_check');
await assert.rejects(things().insert({ maker_id: 99 }), (e) => e.code === '23503' && e.constraint === 'things_maker_id_foreign');
await assert.rejects(k.transaction(async (t) => { await t('makers').del(); throw new Error('back'); }), /back/);
await k.transaction(async (t) => {
  await t('makers').where('id', 1).forUpdate().first();
  await assert.rejects(t.transaction((n) => n('makers').insert({ title: 'acme' })));
  await t('makers').insert({ title: 'cog' });
}, { isolationLevel: 'repeatable read' });
assert.equal((await k('makers').count().first()).count, '3');
assert.equal(await k('makers').where('title', 'bolt').del(), 1);
assert.equal((await things().count().first()).count, '1');
await k.schema.renameTable('makers', 'producers');
assert.equal((await k('producers').join('app.things', 'producers.id', 'app.things.maker_id').first('title')).title, 'acme');
await k.schema.renameTable('producers', 'makers');
await k.schema.createView('known', (v) => { v.columns(['title']); v.as(k('makers').select('title')); });
assert.equal((await k('known')).length, 2);
await k.schema.dropView('known');
await k.raw('TRUNCATE ?? RESTART IDENTITY CASCADE', ['makers']);
assert.equal((await things().count().first()).count, '0');
await k.migrate.rollback(undefined, true);
assert.equal(await k.schema.hasTable('makers'), false);
await k.destroy();
console.log('ok');
