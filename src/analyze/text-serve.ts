/** The inside of the process of text jobs: one job a line on standard input, one answer a line on standard output. */
import { linesOf } from './lines.ts'
import type { Answer } from './text-process.ts'
import { createTextDoers, type TextJob, type TextJobs } from './text-work.ts'

interface Asked<J extends TextJob> {
  readonly job: J
  readonly input: TextJobs[J]['input']
}

/** Serves until standard input ends: then nobody waits for an answer any more. */
export async function serveTextWork(): Promise<void> {
  const doers = createTextDoers()
  const output = Bun.stdout.writer()
  const answer = async (line: string): Promise<Answer> => {
    try {
      const { job, input } = JSON.parse(line) as Asked<TextJob>
      return { value: await (doers[job] as (input: unknown) => Promise<unknown>)(input) }
    } catch (error) {
      // Without its message, which may quote the text.
      return { error: error instanceof Error ? error.name : 'unknown' }
    }
  }
  for await (const line of linesOf(Bun.stdin.stream())) {
    output.write(`${JSON.stringify(await answer(line))}\n`)
    await output.flush()
  }
  process.exit(0)
}
