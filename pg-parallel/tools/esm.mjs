// Writes the ES module entry beside the CommonJS build: the same objects under both, so that `instanceof` holds
// whichever way a dependency loads the package.
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const names = Object.keys(createRequire(import.meta.url)('../dist/index.js')).filter((name) => name !== '__esModule')
writeFileSync('dist/index.mjs', `import all from './index.js'\nexport const { ${names.join(', ')} } = all\n`)
writeFileSync('dist/index.d.mts', "export * from './index.js'\n")
