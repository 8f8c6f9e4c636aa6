/** The built-in analyser. Needs no network and no key. `findings.ts` defines the findings. */
import type { Analyzer, Conversation, Exchange, Finding } from './analyzer.ts'
import type { TextWork } from './text-work.ts'

/** UTF-16 code units of users' text in one job, so that other jobs can run in between. One larger exchange runs alone. */
const MAX_CHARACTERS = 32_000

/** Exchanges of one organization, each with the number of its conversation. */
interface Job {
  readonly organization: string | undefined
  readonly told: { readonly n: number; readonly exchange: Exchange }[]
}

export function createLocalAnalyzer(textWork: TextWork): Analyzer {
  async function analyzeMany(
    conversations: readonly Conversation[],
    signal: AbortSignal,
  ): Promise<readonly (readonly Finding[])[]> {
    signal.throwIfAborted()
    const findings = conversations.map((): Finding[] => [])
    for (const { organization, told } of inJobs(conversations)) {
      const input = told.map(({ exchange }) => ({ ...exchange, answer: '' }))
      const found = await textWork.run('findings', input, signal, organization)
      for (const [index, { n }] of told.entries()) findings[n]?.push(...(found[index] ?? []))
    }
    return findings
  }
  return {
    name: 'local',
    ignoresAnswers: true,
    analyzeMany,
    analyze: async (exchanges, signal, organization) =>
      (await analyzeMany([{ exchanges, organization }], signal))[0] ?? [],
  }
}

/** Splits exchanges into jobs. An exchange without a later message of its reader has no findings. */
function inJobs(conversations: readonly Conversation[]): readonly Job[] {
  const jobs: Job[] = []
  /** For each organization, the job with space left. */
  const open = new Map<string | undefined, { readonly job: Job; room: number }>()
  for (const [n, { organization, exchanges }] of conversations.entries()) {
    for (const exchange of exchanges) {
      if (exchange.followUps.length === 0) continue
      const size = exchange.followUps.reduce((sum, text) => sum + text.length, 0)
      let place = open.get(organization)
      if (place === undefined || size > place.room) {
        place = { job: { organization, told: [] }, room: MAX_CHARACTERS }
        open.set(organization, place)
        jobs.push(place.job)
      }
      place.job.told.push({ n, exchange })
      place.room -= size
    }
  }
  return jobs
}
