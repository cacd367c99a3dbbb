// Sequelize: sync, sync with alter (reads the catalogs), models with every common type, associations, scopes, hooks, query interface.
import assert from 'node:assert/strict';
import { DataTypes, Model, Op, QueryTypes, Sequelize, Transaction, col, fn, literal, where } from 'sequelize';

const s = new Sequelize(process.env.PGDATABASE, process.env.PGUSER, '', { host: process.env.PGHOST, port: +process.env.PGPORT, dialect: 'postgres', logging: false, pool: { max: 3 } });
await s.authenticate();
assert.match(await s.databaseVersion(), /^1[58]\./);
class Maker extends Model {}
const makerColumns = { name: { type: DataTypes.STRING(30), allowNull: false, unique: true }, rank: { type: DataTypes.STRING(5), defaultValue: 'low' } };
Maker.init(makerColumns, { sequelize: s, underscored: true });
class Thing extends Model {}
Thing.init({
  id: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4, primaryKey: true },
  title: { type: DataTypes.STRING, validate: { len: [1, 50] } }, price: DataTypes.DECIMAL(10, 2), weight: DataTypes.DOUBLE, amount: { type: DataTypes.INTEGER, defaultValue: 0 }, big: DataTypes.BIGINT, small: DataTypes.SMALLINT,
  active: { type: DataTypes.BOOLEAN, defaultValue: true }, made: DataTypes.DATEONLY, at: DataTypes.DATE(3), opens: DataTypes.TIME, extra: DataTypes.JSONB, plain: DataTypes.JSON, tags: DataTypes.ARRAY(DataTypes.STRING), grid: DataTypes.ARRAY(DataTypes.ARRAY(DataTypes.INTEGER)), raw: DataTypes.BLOB, note: DataTypes.TEXT,
}, { sequelize: s, paranoid: true, indexes: [{ fields: ['title', { name: 'made', order: 'DESC' }], name: 'thing_title' }, { unique: true, fields: [fn('lower', col('title'))], name: 'thing_lower', where: { active: true } }] });
class Tag extends Model {}
Tag.init({ text: { type: DataTypes.TEXT, primaryKey: true } }, { sequelize: s, timestamps: false });
Maker.hasMany(Thing, { foreignKey: { name: 'makerId', allowNull: false }, onDelete: 'CASCADE' });
Thing.belongsTo(Maker, { foreignKey: 'makerId' });
Thing.belongsToMany(Tag, { through: 'ThingTags' });
Tag.belongsToMany(Thing, { through: 'ThingTags' });
await s.sync({ force: true });
await s.sync();
Maker.init({ ...makerColumns, name: { type: DataTypes.STRING(60), allowNull: false, unique: true }, rank: { type: DataTypes.STRING(9), defaultValue: 'mid' }, code: { type: DataTypes.CHAR(3), comment: 'short' } }, { sequelize: s, underscored: true });
Maker.hasMany(Thing, { foreignKey: { name: 'makerId', allowNull: false }, onDelete: 'CASCADE' });
await s.sync({ alter: true });

const q = s.getQueryInterface();
const described = await q.describeTable('Makers').catch(() => q.describeTable('makers'));
assert.deepEqual([described.name.type, described.name.allowNull, described.rank.defaultValue, described.rank.type, described.code.comment, described.id.primaryKey], ['CHARACTER VARYING(60)', false, 'mid', 'CHARACTER VARYING(9)', 'short', true]);
assert.deepEqual((await q.showAllTables()).map((t) => t.tableName ?? t).sort(), ['ThingTags', 'Things', 'Tags', 'makers'].sort());
const indexes = await q.showIndex('Things');
assert.deepEqual(indexes.map((i) => [i.name, i.unique, i.primary]).sort(), [['Things_pkey', true, true], ['thing_lower', true, false], ['thing_title', false, false]]);
const keys = await q.getForeignKeyReferencesForTable('Things', {});
assert.deepEqual(keys.map((k) => [k.columnName, k.referencedTableName, k.referencedColumnName]), [['makerId', 'makers', 'id']]);

const acme = await Maker.create({ name: 'acme', code: 'a' });
assert.equal(acme.id, 1);
const at = new Date('2024-01-02T03:04:05.678Z');
const full = { title: 'Anvil', price: '12.50', weight: 0.1, amount: 5, big: '9007199254740993', small: -3, made: '2024-02-29', at, opens: '08:30:00', extra: { a: { b: [1, null] }, s: "it's" }, plain: { z: 1 }, tags: ['x', 'y,"z'], grid: [[1, 2], [3, 4]], raw: Buffer.from([0, 255]), note: 'é\n' };
const one = await acme.createThing(full);
const again = (await Thing.findByPk(one.id)).get();
for (const [k, v] of Object.entries(full)) assert.deepEqual(again[k], v, k);
const bolt = (await Maker.bulkCreate([{ name: 'bolt', rank: 'high' }, { name: 'cog' }]))[0];
await Thing.bulkCreate(Array.from({ length: 40 }, (_, i) => ({ title: `t${i}`, price: i, makerId: bolt.id, extra: { n: i }, tags: [`${i % 2}`], made: `2024-0${1 + (i % 3)}-01`, at: new Date(at.getTime() + i * 3600e3) })));
assert.deepEqual((await Thing.findAll({ where: { extra: { n: { [Op.gt]: 37 } } }, order: [['price', 'DESC']] })).map((t) => t.title), ['t39', 't38']);
assert.equal(await Thing.count({ where: { tags: { [Op.contains]: ['1'] }, title: { [Op.iLike]: 'T1%' }, [Op.or]: [{ price: { [Op.between]: [11, 15] } }, { amount: null }] } }), 3);
assert.equal(await Thing.count({ where: { 'extra.s': "it's" } }), 1);
assert.equal((await Thing.findOne({ where: where(fn('lower', col('title')), 'anvil') })).id, one.id);
const { rows, count } = await Thing.findAndCountAll({ include: { model: Maker, where: { rank: 'high' }, required: true }, limit: 3, offset: 2, order: [[Maker, 'name', 'ASC'], ['price', 'DESC']], distinct: true });
assert.deepEqual([count, rows.map((r) => r.title), rows[0].Maker.name], [40, ['t37', 't36', 't35'], 'bolt']);
const makers = await Maker.findAll({ attributes: { include: [[fn('COUNT', col('Things.id')), 'n'], [literal('(SELECT max(price) FROM "Things" t WHERE t."makerId" = "Maker".id)'), 'top']] }, include: [{ model: Thing, attributes: [] }], group: ['Maker.id'], order: ['id'] });
assert.deepEqual(makers.map((m) => [m.name, m.get('n'), m.get('top')]), [['acme', '1', '12.50'], ['bolt', '40', '39.00'], ['cog', '0', null]]);
const months = await Thing.findAll({ attributes: [[fn('date_trunc', 'month', col('made')), 'm'], [fn('sum', col('price')), 's']], group: ['m'], order: ['m'], raw: true, where: { makerId: bolt.id } });
assert.deepEqual(months.map((m) => m.s), ['273.00', '247.00', '260.00']);
const eager = await Maker.findAll({ include: [{ model: Thing, separate: true, limit: 2, order: [['price', 'DESC']] }], order: ['id'] });
assert.deepEqual(eager.map((m) => m.Things.map((t) => t.title)), [['Anvil'], ['t39', 't38'], []]);
await one.setTags(await Tag.bulkCreate([{ text: 'hot' }, { text: 'new' }]));
await one.removeTag('new');
assert.deepEqual((await Thing.findOne({ include: { model: Tag, where: { text: 'hot' } } })).Tags.map((t) => t.text), ['hot']);
assert.equal((await Maker.findCreateFind({ where: { name: 'dot' }, defaults: { code: 'd' } }))[1], true);
assert.equal((await Maker.findCreateFind({ where: { name: 'dot' } }))[1], false);
const [up, wasMade] = await Maker.upsert({ name: 'acme', code: 'new' }, { conflictFields: ['name'], returning: true });
assert.deepEqual([up.id, up.code.trim()], [1, 'new']);
assert.ok(wasMade === null || wasMade === false || wasMade === true);
await Maker.bulkCreate([{ name: 'bolt', code: 'B' }, { name: 'eel' }], { updateOnDuplicate: ['code'] });
assert.equal((await Maker.findOne({ where: { name: 'bolt' } })).code.trim(), 'B');
assert.deepEqual((await Thing.update({ amount: literal('amount + 1') }, { where: { price: { [Op.lt]: 3 } }, returning: ['title', 'amount'] }))[0], 3);
await one.increment({ amount: 2, small: 1 });
await one.reload();
assert.deepEqual([one.amount, one.small], [7, -2]);
await one.destroy();
assert.equal(await Thing.count(), 40);
await one.restore();
assert.equal(await Thing.count({ paranoid: false }), 41);
await assert.rejects(Maker.create({ name: 'acme' }), (e) => e.name === 'SequelizeUniqueConstraintError' && e.fields.name === 'acme' && e.parent.code === '23505');
await assert.rejects(Thing.create({ title: 'z', makerId: 12345 }), (e) => e.name === 'SequelizeForeignKeyConstraintError' && e.table === 'Things');
await assert.rejects(s.query('SELECT nope'), (e) => e.name === 'SequelizeDatabaseError' && e.parent.code === '42703');
await assert.rejects(s.transaction(async (transaction) => { await Thing.destroy({ where: {}, force: true, transaction }); throw new Error('back'); }), /back/);
await s.transaction({ isolationLevel: Transaction.ISOLATION_LEVELS.SERIALIZABLE }, async (transaction) => {
  const locked = await Maker.findByPk(1, { lock: transaction.LOCK.UPDATE, transaction });
  await s.transaction({ transaction }, (inner) => locked.update({ code: 'in' }, { transaction: inner }));
});
assert.equal((await Maker.findByPk(1)).code.trim(), 'in');
assert.deepEqual(await s.query('SELECT :a::int + $b AS x'.replace('$b', ':b::int'), { replacements: { a: 1, b: 2 }, type: QueryTypes.SELECT }), [{ x: 3 }]);
assert.deepEqual(await s.query('SELECT $1::text[] AS x, $2::int AS y', { bind: [['a', 'b'], 5], type: QueryTypes.SELECT }), [{ x: ['a', 'b'], y: 5 }]);
await q.addColumn('Things', 'color', { type: DataTypes.STRING(5), defaultValue: 'red', allowNull: false });
await q.changeColumn('Things', 'color', { type: DataTypes.STRING(20), allowNull: true, defaultValue: 'blue' });
await q.renameColumn('Things', 'color', 'paint');
await q.addIndex('Things', ['paint'], { name: 'things_paint' });
await q.addConstraint('Things', { fields: ['price'], type: 'check', name: 'price_positive', where: { price: { [Op.gte]: 0 } } });
await q.addConstraint('Things', { fields: ['title', 'makerId'], type: 'unique', name: 'things_once' });
assert.deepEqual((await q.showConstraint('Things')).map((c) => [c.constraintName, c.constraintType]).filter(([n]) => /once|positive|makerId/.test(n)).sort(), [['Things_makerId_fkey', 'FOREIGN KEY'], ['Things_makerId_not_null', 'CHECK'], ['price_positive', 'CHECK'], ['things_once', 'UNIQUE']]);
await q.removeConstraint('Things', 'things_once');
await q.removeIndex('Things', 'things_paint');
await q.removeColumn('Things', 'paint');
await Maker.destroy({ where: { id: bolt.id } });
assert.equal(await Thing.count(), 1);
await Thing.truncate({ cascade: true, restartIdentity: true });
await s.drop({});
await s.close();
console.log('ok');
