/** The inside of a thread that works on requests. One piece of work at a time. */
import { AppError } from '../errors.ts'
import { dataOfError, type ErrorData, requestMeter, type Work } from './work.ts'

export interface Assignment {
  readonly name: string
  readonly input: unknown
  /** Of the input. */
  readonly bytes: number
}

export type Completion =
  | { readonly output: unknown }
  | { readonly error: ErrorData }
  /** A defect: the message is for the log. */
  | { readonly defect: string }

/** The part of a message port that is used here. */
interface WorkPort {
  on(event: 'message', listener: (assignment: Assignment) => void): unknown
  postMessage(completion: Completion): void
}

/**
 * Bytes of inputs after which garbage is collected. What large bodies are parsed into takes many times as much, and the engine
 * would wait too long.
 */
const COLLECT_BYTES = 1024 * 1024

/** Does the work that the main thread sends. */
export function serveWork(port: WorkPort, works: readonly Work<never, unknown>[]): void {
  const byName = new Map(works.map((work) => [work.name, work]))
  let garbage = 0
  port.on('message', ({ name, input, bytes }) => {
    port.postMessage(complete(byName.get(name), input))
    garbage += bytes
    if (garbage < COLLECT_BYTES) return
    garbage = 0
    Bun.gc(true)
  })
}

function complete(work: Work<never, unknown> | undefined, input: unknown): Completion {
  try {
    if (work === undefined) throw new Error('the thread does not know this work')
    return { output: work.run(input as never, requestMeter()) }
  } catch (error) {
    if (error instanceof AppError) return { error: dataOfError(error) }
    return { defect: error instanceof Error ? `${error.message}\n${error.stack ?? ''}` : String(error) }
  }
}
