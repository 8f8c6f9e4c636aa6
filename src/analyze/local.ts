/** The built-in analyser. Needs no network and no key; what it finds is in `findings.ts`. */
import type { Analyzer, Exchange, Finding } from './analyzer.ts'
import type { TextWork } from './text-work.ts'

/** Code units of users' text in one text job, where it is not one exchange that has more: other jobs run in between. */
const MAX_CHARACTERS = 32_000

/** An exchange of conversation number `n`. */
interface Told {
  readonly n: number
  readonly exchange: Exchange
}

export function createLocalAnalyzer(textWork: TextWork): Analyzer {
  async function analyzeMany(
    conversations: readonly (readonly Exchange[])[],
    signal: AbortSignal,
  ): Promise<readonly (readonly Finding[])[]> {
    signal.throwIfAborted()
    const findings = conversations.map((): Finding[] => [])
    for (const job of inJobs(conversations)) {
      const input = job.map(({ exchange }) => ({ ...exchange, answer: '' }))
      const found = await textWork.run('findings', input, signal)
      for (const [index, { n }] of job.entries()) findings[n]?.push(...(found[index] ?? []))
    }
    return findings
  }
  return {
    name: 'local',
    ignoresAnswers: true,
    analyzeMany,
    analyze: async (exchanges, signal) => (await analyzeMany([exchanges], signal))[0] ?? [],
  }
}

/** The exchanges to look at, in jobs. Where the reader said nothing afterwards there is nothing to find. */
function inJobs(conversations: readonly (readonly Exchange[])[]): readonly (readonly Told[])[] {
  const jobs: Told[][] = []
  let room = 0
  for (const [n, exchanges] of conversations.entries()) {
    for (const exchange of exchanges) {
      if (exchange.followUps.length === 0) continue
      const size = exchange.followUps.reduce((sum, text) => sum + text.length, 0)
      if (jobs.length === 0 || size > room) {
        jobs.push([])
        room = MAX_CHARACTERS
      }
      jobs.at(-1)?.push({ n, exchange })
      room -= size
    }
  }
  return jobs
}
