/**
 * Earshot's command line as the tests start it: the executable that the check has built, which starts in half of the time.
 * Without a check (`bun test`) it runs from source.
 */
import { resolve } from 'node:path'

const ROOT = resolve(import.meta.dir, '../..')

/** Runs Earshot from source. */
export const EARSHOT_SOURCE: readonly string[] = [process.execPath, resolve(ROOT, 'src/cli.ts')]

/** Path of the executable. @throws Error without a check */
export function executable(): string {
  const path = process.env.TEST_EXECUTABLE
  if (!path) throw new Error('TEST_EXECUTABLE is not set: run the tests with `bun run check`')
  return path
}

/** Runs Earshot: the program and its first arguments. */
export const EARSHOT: readonly string[] = process.env.TEST_EXECUTABLE ? [executable()] : EARSHOT_SOURCE
