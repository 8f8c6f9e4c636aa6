/** Runs text jobs in the calling process, for tests of what the jobs find. */
import { createTextWorkHere } from '../../src/understand/analyze/text-work.ts'

export const textWorkHere = createTextWorkHere()
