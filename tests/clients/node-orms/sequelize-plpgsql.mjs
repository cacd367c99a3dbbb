// What Sequelize does with PL/pgSQL: enumerated columns are made in a DO block, findOrCreate calls a temporary function.
import assert from 'node:assert/strict';
import { DataTypes, Model, Sequelize } from 'sequelize';

const s = new Sequelize(process.env.PGDATABASE, process.env.PGUSER, '', { host: process.env.PGHOST, port: +process.env.PGPORT, dialect: 'postgres', logging: false });
class Maker extends Model {}
Maker.init({ name: { type: DataTypes.TEXT, unique: true }, rank: { type: DataTypes.ENUM('low', 'high'), defaultValue: 'low' } }, { sequelize: s });
await s.sync({ force: true });
await s.sync({ alter: true });
assert.deepEqual((await s.getQueryInterface().describeTable('Makers')).rank.special.sort(), ['high', 'low']);
const [dot, made] = await Maker.findOrCreate({ where: { name: 'dot' }, defaults: { rank: 'high' } });
assert.deepEqual([dot.rank, made], ['high', true]);
assert.equal((await Maker.findOrCreate({ where: { name: 'dot' } }))[1], false);
await s.drop({});
await s.close();
console.log('ok');
