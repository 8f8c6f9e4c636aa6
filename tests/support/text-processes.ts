/** Text processes that the servers of one test process share, because each takes a second of CPU to load its models. */
import {
  createTextProcesses,
  TEXT_PROCESS,
  type TextProcesses,
} from '../../src/analysis/analyze/text-process.ts'
import { TextWorkError } from '../../src/analysis/analyze/text-work.ts'
import { EARSHOT } from './executable.ts'

/** They stay until the tests end, and background work has the usual priority: other tests leave no CPU to a lower one. */
const shared = createTextProcesses({
  command: [...EARSHOT, TEXT_PROCESS],
  idleMs: 3_600_000,
  backgroundNiceness: 0,
})

/** Text work of one server. `close` ends the jobs of this server only. */
export function shareTextProcesses(): TextProcesses {
  const closing = new AbortController()
  return {
    run: (job, input, signal, organization) =>
      shared.run(job, input, AbortSignal.any([signal, closing.signal]), organization),
    close: () => closing.abort(new TextWorkError('the service is stopping')),
  }
}
