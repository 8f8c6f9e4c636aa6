/** The child process of text jobs. Each line on standard input is a job, each line on standard output an answer. */
import { linesOf } from './lines.ts'
import type { Answer } from './text-process.ts'
import { createTextDoers, type TextJob, type TextJobs } from './text-work.ts'

interface Asked<J extends TextJob> {
  readonly job: J
  readonly input: TextJobs[J]['input']
}

/** Beyond this, garbage is collected between two jobs. By itself the engine lets it grow to about half a gigabyte. */
const MOST_BYTES = 320_000_000

/** Serves until standard input ends. */
export async function serveTextWork(): Promise<void> {
  const doers = createTextDoers()
  const output = Bun.stdout.writer()
  const answer = async (line: string): Promise<Answer> => {
    try {
      const { job, input } = JSON.parse(line) as Asked<TextJob>
      return { value: await (doers[job] as (input: unknown) => Promise<unknown>)(input) }
    } catch (error) {
      // The message is dropped, because it may quote the text.
      return { error: error instanceof Error ? error.name : 'unknown' }
    }
  }
  for await (const line of linesOf(Bun.stdin.stream())) {
    output.write(`${JSON.stringify(await answer(line))}\n`)
    await output.flush()
    if (process.memoryUsage.rss() > MOST_BYTES) Bun.gc(true)
  }
  process.exit(0)
}
