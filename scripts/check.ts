/**
 * `bun run check [--thorough] [path …]`: installs what the lock file names, type-checks, lints, and runs every test (or those whose
 * path contains an argument) against private servers. The last line is `N passed, N failed[, N skipped]`.
 * `--thorough`: tests with generated input and with faults try more (tests/support/rounds.ts).
 *
 * It also runs from a fresh clone. So this file imports built-in modules only; the rest is loaded after the installation.
 */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { installDependencies } from './install.ts'

installDependencies({ need: 'all', onFailure: () => console.log('0 passed, 1 failed') })
const { check } = await import('./check/main.ts')
const { values, positionals } = parseArgs({
  options: { thorough: { type: 'boolean', default: false } },
  allowPositionals: true,
})
process.exit(await check(resolve(import.meta.dir, '..'), positionals, values))
