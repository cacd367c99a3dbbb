import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import * as schema from './schema';

// (libpq's variables say where the database is)
export const db = drizzle(new pg.Pool(), { schema });
