/** The built-in analyser. Needs no network and no key; what it finds is in `findings.ts`. */
import type { Analyzer, Finding } from './analyzer.ts'
import type { TextWork } from './text-work.ts'

/** Exchanges of one text job: jobs of other conversations run in between. */
const SLICE = 5

export function createLocalAnalyzer(textWork: TextWork): Analyzer {
  return {
    name: 'local',
    async analyze(exchanges, signal, organization) {
      signal.throwIfAborted()
      const findings: Finding[] = []
      // Where the reader said nothing afterwards there is nothing to find.
      const telling = exchanges.filter(({ followUps }) => followUps.length > 0)
      for (let first = 0; first < telling.length; first += SLICE) {
        const slice = telling.slice(first, first + SLICE)
        findings.push(...(await textWork.run('findings', slice, signal, organization)))
      }
      return findings
    },
  }
}
