/**
 * `bun run check [path …]`: installs what the lock file names, type-checks, lints, and runs every test (or those whose
 * path contains an argument) against private servers. The last line is `N passed, N failed[, N skipped]`.
 *
 * It also runs from a fresh clone. So this file imports built-in modules only; the rest is loaded after the installation.
 */
import { resolve } from 'node:path'
import { installDependencies } from './install.ts'

installDependencies({ need: 'all', onFailure: () => console.log('0 passed, 1 failed') })
const { check } = await import('./check/main.ts')
process.exit(await check(resolve(import.meta.dir, '..'), process.argv.slice(2)))
