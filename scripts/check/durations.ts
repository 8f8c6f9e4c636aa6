/**
 * How long each test file takes. The runner starts the longest first, so that none of them runs alone at the end, and the
 * check prints the slowest.
 *
 * `tests/durations.json` (path → seconds on two cores) names the files that take long; every other one counts as short. A run
 * does not change it: when the list that the check prints has another order, correct the file by hand.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where the known ones are, relative to the repository. */
export const KNOWN = 'tests/durations.json'
/** What a file counts that is not known, in milliseconds. */
const SHORT_MS = 2_000

/** What one file took, in seconds. */
export interface Duration {
  readonly file: string
  readonly seconds: number
}

/** The file that `bun test --timings` reads and, with `--update-timings`, writes; durations in milliseconds. */
interface Timings {
  readonly version: 1
  readonly files: Readonly<Record<string, number>>
}

/** What the runner is told before the run: a duration for each of `files`. */
export function expectedTimings(root: string, files: readonly string[]): Timings {
  const path = join(root, KNOWN)
  const known: Readonly<Record<string, number>> = existsSync(path)
    ? JSON.parse(readFileSync(path, 'utf8'))
    : {}
  const durations = files.map((file) => [file, (known[file] ?? 0) * 1_000 || SHORT_MS])
  return { version: 1, files: Object.fromEntries(durations) }
}

/** The `count` files that took longest, the longest first; of those in `ran` only. `text` is what the runner wrote. */
export function slowestOf(text: string, ran: ReadonlySet<string>, count: number): readonly Duration[] {
  const { files } = JSON.parse(text) as Timings
  return Object.entries(files)
    .filter(([file]) => ran.has(file))
    .map(([file, ms]) => ({ file, seconds: ms / 1_000 }))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, count)
}
