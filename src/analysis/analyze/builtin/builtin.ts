/** The built-in analyser as seen by the service: it needs no network and no key, and works in the text process. */
import type { Analyzer, Insight, Subject } from '../insight.ts'
import type { TextWork } from '../text-work.ts'
import { NAME, VERSION } from './version.ts'

/** UTF-16 code units of one job, so that jobs of other organizations run in between. One larger subject runs alone. */
const MAX_JOB = 32_000

/**
 * @param tier `rules` takes well below a millisecond a subject; `all` also uses the trained head
 * @param name `insight_background`: a background analysis
 */
export function createBuiltInAnalyzer(
  textWork: TextWork,
  tier: 'rules' | 'all' = 'all',
  name: 'insight' | 'insight_background' = 'insight',
): Analyzer {
  return {
    name: NAME,
    version: VERSION,
    async analyze(subjects, signal, organization) {
      const insights: Insight[] = []
      for (const job of inJobs(subjects)) {
        insights.push(...(await textWork.run(name, { subjects: job, tier }, signal, organization)))
      }
      return insights
    },
  }
}

function inJobs(subjects: readonly Subject[]): readonly (readonly Subject[])[] {
  const jobs: Subject[][] = []
  let left = 0
  for (const subject of subjects) {
    const size = subject.said.reduce((sum, { text }) => sum + text.length, 0)
    if (jobs.length === 0 || size > left) {
      jobs.push([])
      left = MAX_JOB
    }
    jobs.at(-1)?.push(subject)
    left -= size
  }
  return jobs
}
