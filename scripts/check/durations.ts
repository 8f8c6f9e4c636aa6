/**
 * How long each test file takes. The runner starts the longest first, so that none of them runs alone at the end, and the
 * check prints the slowest.
 *
 * `tests/durations.json` (path → seconds) names the files that take long; every other one counts as short. A passed check of all
 * files writes it.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where the known ones are, relative to the repository. */
export const KNOWN = 'tests/durations.json'
/** What a file counts that is not known, in milliseconds. */
const SHORT_MS = 2_000
/** Files that take at least so many seconds are named. */
const LONG_SECONDS = 8
/** A named file keeps its number while a run takes at most so many times more or less, so that most runs change nothing. */
const SIMILAR = 1.5

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

function knownDurations(root: string): Readonly<Record<string, number>> {
  const path = join(root, KNOWN)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
}

/** What the runner is told before the run: a duration for each of `files`. */
export function expectedTimings(root: string, files: readonly string[]): Timings {
  const known = knownDurations(root)
  const durations = files.map((file) => [file, (known[file] ?? 0) * 1_000 || SHORT_MS])
  return { version: 1, files: Object.fromEntries(durations) }
}

/** What the files in `ran` took. `text` is what the runner wrote. */
export function durationsOf(text: string, ran: ReadonlySet<string>): readonly Duration[] {
  const { files } = JSON.parse(text) as Timings
  return Object.entries(files)
    .filter(([file]) => ran.has(file))
    .map(([file, ms]) => ({ file, seconds: ms / 1_000 }))
    .sort(longestFirst)
}

export const longestFirst = (a: Duration, b: Duration) => b.seconds - a.seconds

/** Writes the known durations anew, after a run of all files. */
export function recordDurations(root: string, measured: readonly Duration[]): void {
  const before = knownDurations(root)
  const named = measured
    .map(({ file, seconds }) => {
      const known = before[file]
      const isSimilar = known !== undefined && seconds < known * SIMILAR && seconds > known / SIMILAR
      return { file, seconds: isSimilar ? known : Math.round(seconds) }
    })
    .filter(({ seconds }) => seconds >= LONG_SECONDS)
    .sort(longestFirst)
    .map(({ file, seconds }) => [file, seconds] as const)
  writeFileSync(join(root, KNOWN), `${JSON.stringify(Object.fromEntries(named), null, 2)}\n`)
}
