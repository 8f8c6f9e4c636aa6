/** Runs text jobs in the calling process, for tests of what the jobs find. */
import { createTextDoers, type TextJob, type TextJobs, type TextWork } from '../../src/analyze/text-work.ts'

const doers = createTextDoers()

export const textWorkHere: TextWork = {
  async run<J extends TextJob>(job: J, input: TextJobs[J]['input'], signal: AbortSignal) {
    signal.throwIfAborted()
    return (doers[job] as (input: TextJobs[J]['input']) => Promise<TextJobs[J]['output']>)(input)
  },
}
