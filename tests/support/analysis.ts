/** Analyses of sessions for tests that await the end of all work. */

import { createBuiltInAnalyzer } from '../../src/analysis/analyze/builtin/builtin.ts'
import type { TextWork } from '../../src/analysis/analyze/text-work.ts'
import type { Passes } from '../../src/hear/agents/analysis/actor.ts'

/** Only the first pass, by rules. The second pass would start after a delay. */
export function rulesOnly(textWork: TextWork): Passes {
  return { first: createBuiltInAnalyzer(textWork, 'rules'), isComplete: true, together: true }
}
