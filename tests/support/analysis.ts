/** Readings of sessions for tests that await the end of all work. */
import type { Readings } from '../../src/agents/analysis/actor.ts'
import { createBuiltInAnalyzer } from '../../src/analyze/builtin/builtin.ts'
import type { TextWork } from '../../src/analyze/text-work.ts'

/** One reading, by rules. The second one starts only after a delay. */
export function rulesOnly(textWork: TextWork): Readings {
  return { first: createBuiltInAnalyzer(textWork, 'rules'), isComplete: true, together: true }
}
