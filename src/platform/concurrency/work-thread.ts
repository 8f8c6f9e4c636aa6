/** The side of a work thread that runs inside the thread. It does one piece of work at a time. */
import { AppError } from '../errors.ts'
import { packNumbers } from '../validation/exact-number.rules.ts'
import { transferable } from './parts.ts'
import { dataOfError, type ErrorData, requestMeter, type Work } from './work.ts'

export interface Assignment {
  readonly name: string
  readonly input: unknown
  /** Size of the input. */
  readonly bytes: number
  /** Parts of the input, which are transferred. */
  readonly parts: Uint8Array[]
  /** Whether the parts are sent back. */
  readonly keepsParts: boolean
}

/** What a thread sends when its work is done. */
export interface Report {
  readonly completion: Completion
  /** Whether the output has numbers that are packed for the way (`unpackNumbers`). */
  readonly isPacked?: boolean
  /** Empty unless they are kept. */
  readonly parts: Uint8Array[]
}

export type Completion =
  | { readonly output: unknown }
  | { readonly error: ErrorData }
  /** A defect of the service. The message is for the log. */
  | { readonly defect: string }

/** The part of a message port that is used here. */
interface WorkPort {
  on(event: 'message', listener: (assignment: Assignment) => void): unknown
  postMessage(report: Report, transfer: ArrayBuffer[]): void
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
  port.on('message', ({ name, input, bytes, parts, keepsParts }) => {
    const completion = complete(byName.get(name), input)
    const kept = keepsParts ? parts : []
    post(port, { completion, parts: kept })
    garbage += bytes
    if (garbage < COLLECT_BYTES) return
    garbage = 0
    Bun.gc(true)
  })
}

/** Almost no output has numbers that need to be packed, so they are looked for when the message is refused. */
function post(port: WorkPort, report: Report): void {
  try {
    port.postMessage(report, transferable(report.parts))
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== 'DataCloneError') throw error
    const completion = packNumbers(report.completion) as Completion
    port.postMessage({ ...report, completion, isPacked: true }, transferable(report.parts))
  }
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
