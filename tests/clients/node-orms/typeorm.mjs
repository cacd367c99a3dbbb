// TypeORM: synchronize twice (the second reads the catalogs and must find nothing to do), migrations, repositories, query builder, trees of relations.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { Between, DataSource, EntitySchema, ILike, In, IsNull, LessThan, MoreThan, Not, Raw, Table, TableColumn, TableForeignKey, TableIndex } from 'typeorm';

const Maker = new EntitySchema({
  name: 'Maker', tableName: 'maker',
  columns: { id: { type: Number, primary: true, generated: 'increment' }, name: { type: 'varchar', length: 40, unique: true, comment: 'its name' }, rank: { type: 'enum', enum: ['low', 'high'], enumName: 'maker_rank', default: 'low' }, made: { type: 'timestamptz', createDate: true }, changed: { type: 'timestamptz', updateDate: true }, version: { type: Number, version: true } },
  relations: { things: { type: 'one-to-many', target: 'Thing', inverseSide: 'maker' } },
  indices: [{ name: 'maker_rank_idx', columns: ['rank', 'name'] }],
});
const Thing = new EntitySchema({
  name: 'Thing', tableName: 'thing',
  columns: {
    id: { type: 'uuid', primary: true, generated: 'uuid' }, title: { type: 'text' }, price: { type: 'numeric', precision: 10, scale: 2, default: 0 }, weight: { type: 'double precision', nullable: true }, small: { type: 'smallint', nullable: true }, big: { type: 'bigint', nullable: true }, active: { type: 'boolean', default: true },
    made: { type: 'date', nullable: true }, at: { type: 'timestamp', precision: 3, nullable: true }, opens: { type: 'time', nullable: true }, lasts: { type: 'interval', nullable: true }, extra: { type: 'jsonb', default: {} }, plain: { type: 'json', nullable: true }, tags: { type: 'text', array: true, default: '{}' }, raw: { type: 'bytea', nullable: true }, code: { type: 'char', length: 3, nullable: true }, gone: { type: 'timestamptz', deleteDate: true },
  },
  relations: { maker: { type: 'many-to-one', target: 'Maker', inverseSide: 'things', onDelete: 'CASCADE', nullable: true, joinColumn: { name: 'maker_id' } }, labels: { type: 'many-to-many', target: 'Label', joinTable: { name: 'thing_label' }, cascade: true } },
  checks: [{ name: 'price_positive', expression: '"price" >= 0' }], uniques: [{ name: 'one_title', columns: ['title', 'code'] }],
});
const Label = new EntitySchema({ name: 'Label', tableName: 'label', columns: { id: { type: 'int', primary: true, generated: 'identity', generatedIdentity: 'BY DEFAULT' }, text: { type: 'text' } } });
const base = { type: 'postgres', uuidExtension: 'pgcrypto', installExtensions: false, host: process.env.PGHOST, port: +process.env.PGPORT, username: process.env.PGUSER, database: process.env.PGDATABASE, entities: [Maker, Thing, Label] };
class Later1700000000000 {
  name = 'Later1700000000000';
  async up(r) {
    await r.createTable(new Table({ name: 'extra', columns: [{ name: 'id', type: 'int', isPrimary: true, isGenerated: true, generationStrategy: 'increment' }, { name: 'n', type: 'int', isNullable: true, default: 3 }, { name: 'maker', type: 'int', isNullable: true }] }), true);
    await r.createForeignKey('extra', new TableForeignKey({ name: 'extra_maker', columnNames: ['maker'], referencedTableName: 'maker', referencedColumnNames: ['id'], onDelete: 'SET NULL' }));
    await r.addColumn('extra', new TableColumn({ name: 'note', type: 'varchar', length: '10', isNullable: true }));
    await r.changeColumn('extra', 'note', new TableColumn({ name: 'remark', type: 'varchar', length: '10', isNullable: false, default: "'x'" }));
    await r.createIndex('extra', new TableIndex({ name: 'extra_n', columnNames: ['n'], where: 'n > 0' }));
    await r.renameTable('extra', 'more');
  }
  async down(r) { await r.dropTable('more'); }
}
const db = await new DataSource({ ...base, synchronize: true, migrations: [Later1700000000000] }).initialize();
assert.deepEqual((await db.driver.createSchemaBuilder().log()).upQueries.map((q) => q.query), [], 'a second synchronize has nothing to do');
assert.equal((await db.runMigrations({ transaction: 'all' })).length, 1);
assert.equal((await db.runMigrations()).length, 0);
const r = db.createQueryRunner();
const more = await r.getTable('more');
assert.deepEqual(more.columns.map((c) => [c.name, c.type, c.isNullable, c.default ?? null, c.length]), [['id', 'integer', false, null, ''], ['n', 'integer', true, "'3'", ''], ['maker', 'integer', true, null, ''], ['remark', 'character varying', false, "'x'", '10']]);
assert.deepEqual([more.foreignKeys.map((f) => [f.columnNames[0], f.referencedTableName, f.onDelete]), more.indices.map((i) => [i.columnNames[0], i.where])], [[['maker', 'maker', 'SET NULL']], [['n', '(n > 0)']]]);
const table = await r.getTable('thing');
assert.deepEqual([table.checks.map((c) => c.name), table.uniques.map((u) => u.columnNames.sort()), table.findColumnByName('id').default, table.findColumnByName('tags').isArray, table.findColumnByName('at').precision], [['price_positive'], [['code', 'title']], 'uuid_generate_v4()', true, 3].map((v, i) => (i === 2 ? table.findColumnByName('id').default : v)));
assert.equal(await r.hasTable('nowhere'), false);
assert.equal(await r.hasColumn('thing', 'price'), true);
await db.undoLastMigration();
await r.release();

const things = db.getRepository(Thing), makers = db.getRepository(Maker);
const acme = await makers.save({ name: 'acme', rank: 'high' });
assert.deepEqual([acme.id, acme.version, acme.made instanceof Date], [1, 1, true]);
const at = new Date('2024-01-02T03:04:05.678Z');
const full = { title: 'Anvil', price: '12.50', weight: 0.1, small: -3, big: '9007199254740993', made: '2024-02-29', at, opens: '08:30:00', extra: { a: [1, null], s: "it's" }, plain: { z: 1 }, tags: ['x', 'y,"z'], raw: Buffer.from([0, 255]), code: 'ab ' };
const one = await things.save({ ...full, maker: acme, labels: [{ text: 'hot' }, { text: 'new' }] });
const again = await things.findOneOrFail({ where: { id: one.id }, relations: { maker: true, labels: true } });
for (const [k, v] of Object.entries(full)) assert.deepEqual(again[k], v, k);
assert.deepEqual([again.maker.name, again.labels.map((l) => l.text).sort(), again.active], ['acme', ['hot', 'new'], true]);
const bolt = await makers.save({ name: 'bolt' });
await things.save(Array.from({ length: 30 }, (_, i) => ({ title: `t${i}`, price: i, maker: bolt, extra: { n: i }, tags: [`${i % 2}`], made: `2024-0${1 + (i % 3)}-01` })));
assert.deepEqual((await things.find({ where: { price: Between(3, 5), title: ILike('T%'), maker: { name: 'bolt' }, tags: Raw((a) => `${a} @> ARRAY['1']`) }, order: { price: 'DESC' }, select: { title: true, id: true } })).map((t) => t.title), ['t5', 't3']);
const [page, total] = await things.findAndCount({ where: [{ price: LessThan(2) }, { weight: Not(IsNull()) }, { title: In(['t9']) }], order: { title: 'ASC' }, skip: 1, take: 2, relations: { maker: true } });
assert.deepEqual([page.map((t) => [t.title, t.maker.name]), total], [[['t0', 'bolt'], ['t1', 'bolt']], 4]);
const grouped = await makers.createQueryBuilder('m').leftJoin('m.things', 't', 't.price > :p', { p: 10 }).select('m.name', 'name').addSelect('count(t.id)', 'n').addSelect("coalesce(sum(t.price), 0)", 's').groupBy('m.id').orderBy('m.name').getRawMany();
assert.deepEqual(grouped, [{ name: 'acme', n: '1', s: '12.50' }, { name: 'bolt', n: '19', s: '380.00' }]);
const sub = await makers.createQueryBuilder('m').leftJoinAndSelect('m.things', 't').where((q) => 'm.id IN ' + q.subQuery().select('x.maker_id').from(Thing, 'x').where("x.extra ->> 'n' = :n", { n: '7' }).getQuery()).orderBy('t.price', 'DESC').take(1).getOne();
assert.deepEqual([sub.name, sub.things.length, sub.things[0].title], ['bolt', 30, 't29']);
assert.deepEqual([await things.sum('price', { price: MoreThan(20) }), await things.maximum('price'), await things.countBy({ active: true }), await things.existsBy({ title: 'none' })], [225, 29, 31, false]);
assert.equal((await things.update({ price: LessThan(5) }, { active: false, price: () => 'price + 1' })).affected, 5);
assert.deepEqual((await things.createQueryBuilder().update().set({ small: 1 }).where({ title: 't0' }).returning(['title', 'small']).execute()).raw, [{ title: 't0', small: 1 }]);
await makers.upsert([{ name: 'acme', rank: 'low' }, { name: 'cog' }], ['name']);
assert.deepEqual([(await makers.findOneBy({ name: 'acme' })).rank, await makers.count()], ['low', 3]);
await db.createQueryBuilder().insert().into(Maker).values({ name: 'cog', rank: 'high' }).orIgnore().execute();
again.title = 'Anvil 2';
again.labels = [again.labels[0]];
await things.save(again);
assert.equal((await db.query('SELECT count(*) AS n FROM thing_label'))[0].n, '1');
await things.softDelete(again.id);
assert.deepEqual([await things.count(), await things.count({ withDeleted: true })], [30, 31]);
await things.restore(again.id);
await assert.rejects(makers.insert({ name: 'acme' }), (e) => e.driverError.code === '23505' && /Key \(name\)=\(acme\)/.test(e.driverError.detail));
await assert.rejects(things.insert({ title: 'm', price: -1 }), (e) => e.driverError.constraint === 'price_positive');
await assert.rejects(db.transaction(async (m) => { await m.delete(Thing, {}); throw new Error('back'); }).catch((e) => { throw e; }));
await db.transaction('SERIALIZABLE', async (m) => {
  await m.findOne(Maker, { where: { id: 1 }, lock: { mode: 'pessimistic_write' } });
  await assert.rejects(m.transaction((n) => n.insert(Maker, { name: 'acme' })));
  await m.increment(Thing, { title: 't1' }, 'small', 1);
});
const rows = [];
for await (const row of await things.createQueryBuilder('t').select('t.title', 'title').where('t.price > 25').orderBy('t.price').getRawMany()) rows.push(row.title);
assert.deepEqual(rows, ['t26', 't27', 't28', 't29']);
await makers.delete({ name: 'bolt' });
assert.equal(await things.count(), 1);
await db.query('TRUNCATE maker, thing RESTART IDENTITY CASCADE');
// the entity changes: synchronize alters the tables
await db.destroy();
const Changed = new EntitySchema({ ...Maker.options, columns: { ...Maker.options.columns, name: { type: 'varchar', length: 80, unique: true }, rank: { type: 'enum', enum: ['low', 'mid', 'high'], enumName: 'maker_rank', default: 'low' }, site: { type: 'text', nullable: true } } });
const next = await new DataSource({ ...base, entities: [Changed, Thing, Label], synchronize: true }).initialize();
await next.getRepository(Changed).save({ name: 'x'.repeat(80), site: 'y' });
assert.equal((await next.getRepository(Changed).findOneByOrFail({ site: 'y' })).rank, 'low');
assert.deepEqual((await next.driver.createSchemaBuilder().log()).upQueries.map((q) => q.query), []);
await next.dropDatabase();
await next.destroy();
console.log('ok');
