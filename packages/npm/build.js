// Builds the tarballs: `pgsqlite`, and the package of the platform whose program $PGSQLITE_BIN is. node build.js OUT [PLATFORM]
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '..', '..');
const PLATFORMS = {
  'linux-x64': { os: ['linux'], cpu: ['x64'], libc: ['glibc'] },
  'linux-arm64': { os: ['linux'], cpu: ['arm64'], libc: ['glibc'] },
  'linux-x64-musl': { os: ['linux'], cpu: ['x64'], libc: ['musl'] },
  'linux-arm64-musl': { os: ['linux'], cpu: ['arm64'], libc: ['musl'] },
  'darwin-arm64': { os: ['darwin'], cpu: ['arm64'] },
  'darwin-x64': { os: ['darwin'], cpu: ['x64'] },
};

const program = resolve(process.env.PGSQLITE_BIN ?? join(root, 'pgsqlite', 'target', 'release', 'pgsqlite'));
const [out, platform = `${process.platform}-${process.arch}`] = process.argv.slice(2);
if (!out || !PLATFORMS[platform]) throw new Error(`node build.js OUT [${Object.keys(PLATFORMS).join('|')}]`);
const version = readFileSync(join(root, 'pgsqlite', 'Cargo.toml'), 'utf8').match(/^\[workspace\.package\]\nversion = "(.+)"/m)[1];
const work = mkdtempSync(join(tmpdir(), 'pgsqlite-npm-'));
mkdirSync(out, { recursive: true });

function pack(name, manifest, fill) {
  const folder = join(work, name);
  mkdirSync(folder);
  fill(folder);
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  // (the packages have the files' modes, whatever the mask of this process is)
  chmodSync(join(folder, 'package.json'), 0o644);
  const made = execFileSync('npm', ['pack', '--silent', '--pack-destination', resolve(out)], { cwd: folder, encoding: 'utf8' });
  console.log(join(out, made.trim()));
}

try {
  pack(
    `pgsqlite-${platform}`,
    {
      name: `pgsqlite-${platform}`,
      version,
      description: `The program of the package pgsqlite for ${platform}`,
      license: 'MIT',
      ...PLATFORMS[platform],
      files: ['bin'],
      preferUnplugged: true,
    },
    (folder) => {
      mkdirSync(join(folder, 'bin'));
      cpSync(program, join(folder, 'bin', 'pgsqlite'));
      chmodSync(join(folder, 'bin', 'pgsqlite'), 0o755);
    },
  );
  const manifest = JSON.parse(readFileSync(join(here, 'pgsqlite', 'package.json'), 'utf8'));
  manifest.version = version;
  manifest.optionalDependencies = Object.fromEntries(Object.keys(PLATFORMS).map((name) => [`pgsqlite-${name}`, version]));
  pack('pgsqlite', manifest, (folder) => cpSync(join(here, 'pgsqlite'), folder, { recursive: true }));
} finally {
  rmSync(work, { recursive: true, force: true });
}
