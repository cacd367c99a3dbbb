import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

const PLATFORMS = ['linux-x64', 'linux-arm64', 'linux-x64-musl', 'linux-arm64-musl', 'darwin-arm64', 'darwin-x64'];

/** Whether Node runs on musl's C library. */
function isMusl() {
  return process.platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime;
}

/** Returns the path of the program: $PGSQLITE_BIN, or that of the platform's package. */
export function findProgram() {
  if (process.env.PGSQLITE_BIN) return process.env.PGSQLITE_BIN;
  const platform = `${process.platform}-${process.arch}${isMusl() ? '-musl' : ''}`;
  const require = createRequire(import.meta.url);
  try {
    const path = require.resolve(`pgsqlite-${platform}/bin/pgsqlite`);
    if (existsSync(path)) return path;
  } catch {
    // told below
  }
  const known = PLATFORMS.includes(platform)
    ? `the package pgsqlite-${platform} is not installed: install without --omit=optional`
    : `there is no package for ${platform}; build pgsqlite and name the program in PGSQLITE_BIN`;
  throw new Error(`The program pgsqlite was not found: ${known}.`);
}
