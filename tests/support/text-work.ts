/** Runs text jobs in the calling process, for tests of what the jobs find. */
import { createTextWorkHere } from '../../src/analysis/analyze/text-work.ts'

export const textWorkHere = createTextWorkHere()
