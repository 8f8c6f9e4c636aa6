/** The side of a work thread that runs inside the thread. It does one piece of work at a time. */
import { AppError } from '../errors.ts'
import { dataOfError, type ErrorData, requestMeter, type Work } from './work.ts'

export interface Assignment {
  readonly name: string
  readonly input: unknown
  /** Size of the input. */
  readonly bytes: number
}

export type Completion =
  | { readonly output: unknown }
  | { readonly error: ErrorData }
  /** A defect of the service. The message is for the log. */
  | { readonly defect: string }

/** The part of a message port that is used here. */
interface WorkPort {
  on(event: 'message', listener: (assignment: Assignment) => void): unknown
  postMessage(completion: Completion): void
}

/**
 * Garbage is collected each time inputs of this size were processed. Parsed bodies take many times the bytes of their text, and
 * the engine alone would collect too late.
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
    if (work === undefined) throw new Error('the work thread has no work of this name')
    return { output: work.run(input as never, requestMeter()) }
  } catch (error) {
    if (error instanceof AppError) return { error: dataOfError(error) }
    return { defect: error instanceof Error ? `${error.message}\n${error.stack ?? ''}` : String(error) }
  }
}
