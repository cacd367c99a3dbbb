// Writes what the tarball has beside the code: API.md, from the sources' comments, and CHANGELOG.md, this package's part
// of the repository's.
//
// usage: node tools/pack.mjs [publish]
//
// With `publish` it writes nothing, and refuses a manifest that does not say where the package comes from.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

if (process.argv.includes('publish')) {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
  for (const field of ['repository', 'homepage', 'bugs']) {
    if (manifest[field]) continue
    console.error(`package.json has no ${field}: set it (npm pkg set) before the package is published`)
    process.exit(1)
  }
  process.exit(0)
}

/** The entries that begin with the package's name, under the headings of their versions and groups. */
function ownEntries(changelog) {
  const versions = []
  for (const version of changelog.split(/^(?=## )/m).filter((part) => part.startsWith('## '))) {
    const groups = []
    for (const group of version.split(/^(?=### )/m)) {
      const heading = group.startsWith('### ') ? `${group.split('\n', 1)[0]}\n\n` : ''
      const own = group.split(/^(?=- )/m).filter((entry) => /^- pg-parallel\b/.test(entry))
      if (own.length > 0) groups.push(`${heading}${own.map((entry) => entry.trimEnd()).join('\n')}\n`)
    }
    if (groups.length > 0) versions.push(`${version.split('\n', 1)[0]}\n\n${groups.join('\n')}`)
  }
  return `# Changelog\n\n${versions.join('\n')}`
}
writeFileSync('CHANGELOG.md', ownEntries(readFileSync('../CHANGELOG.md', 'utf8')))

const out = mkdtempSync(join(tmpdir(), 'pg-parallel-api-'))
const options = {
  readme: 'none',
  outputFileStrategy: 'modules',
  entryFileName: 'API.md',
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  propertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  out,
}
try {
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  execFileSync(
    process.execPath,
    [
      'node_modules/typedoc/bin/typedoc',
      '--plugin',
      'typedoc-plugin-markdown',
      '--hideBreadcrumbs',
      '--hidePageHeader',
      '--excludeExternals',
      '--logLevel',
      'Warn',
      ...flags,
    ],
    { stdio: 'inherit' },
  )
  // Not renamed: the temporary folder may be on another file system.
  writeFileSync('API.md', readFileSync(join(out, 'API.md')))
} finally {
  rmSync(out, { recursive: true })
}
