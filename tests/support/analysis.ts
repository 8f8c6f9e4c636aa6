/** Analyses of sessions for tests that await the end of all work. */
import type { Passes } from '../../src/agents/analysis/actor.ts'
import { createBuiltInAnalyzer } from '../../src/analyze/builtin/builtin.ts'
import type { TextWork } from '../../src/analyze/text-work.ts'

/** Only the first pass, by rules. The second pass would start after a delay. */
export function rulesOnly(textWork: TextWork): Passes {
  return { first: createBuiltInAnalyzer(textWork, 'rules'), isComplete: true, together: true }
}
