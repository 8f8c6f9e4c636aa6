/**
 * Work on requests that could block the HTTP thread, such as parsing a large body.
 *
 * A piece of work is a pure function with a name. Short work runs on the HTTP thread, long work in a thread that can be ended. The
 * function does not know where it runs, so its input and output are plain data. It reports its progress to `spend`, which ends work
 * that takes too long.
 */
import { AppError, type ErrorCode, type ErrorDetail } from '../errors.ts'

/** Counts work in units of about 10 ns. Throws if there was too much. The work must not catch that error. */
export type Spend = (units: number) => void

export interface Work<I, O> {
  /** The same in every thread. */
  readonly name: string
  /** @throws AppError that is passed on to the caller */
  run(input: I, spend: Spend): O
}

/** The caller of the work and its size. */
export interface Load {
  /** Callers take turns. */
  readonly caller: string
  /** Size of the input. */
  readonly bytes: number
  /** Estimated work in units of about 10 ns. */
  readonly units: number
  /**
   * Parts of the input, not more than some hundred. If a thread does the work, they are transferred to it, and the list is empty
   * afterwards. To copy a large body would occupy the HTTP thread.
   */
  readonly parts?: Uint8Array[]
  /** Whether the caller needs the parts afterwards. Then they are transferred back into the list, unless the thread was ended. */
  readonly keepsParts?: boolean
}

export interface RequestWork {
  /**
   * @throws AppError of the work; 400 `request_too_costly` if it exceeds the limit of a request; 503 `unavailable` if it exceeds the
   * deadline
   */
  run<I, O>(work: Work<I, O>, input: I, load: Load): Promise<O>
  /** Ends the threads. */
  close(): void
}

/** The limit of one request. 100 redaction patterns over 2 MiB take 210 million units, and 700 million where every second letter has an accent. */
const MAX_UNITS = 1_000_000_000

/** Counts up to `maxUnits`, then throws the error of `excess`. */
export function meter(maxUnits: number, excess: () => Error): Spend {
  let left = maxUnits
  return (units) => {
    left -= units
    if (left < 0) throw excess()
  }
}

/** A meter with the limit of one request. */
export const requestMeter = (): Spend =>
  meter(
    MAX_UNITS,
    () =>
      new AppError(
        'request_too_costly',
        'Redacting this request takes more work than one request may cause. Send fewer or shorter events, or use fewer and ' +
          'simpler redaction patterns.',
      ),
  )

/** An `AppError` as plain data. */
export interface ErrorData {
  readonly code: ErrorCode
  readonly message: string
  readonly details: readonly ErrorDetail[]
  readonly extra: Readonly<Record<string, string | number>>
}

/** For the way to another thread, which keeps no class of an error. */
export const dataOfError = ({ code, message, details, extra }: AppError): ErrorData => ({
  code,
  message,
  details,
  extra,
})

/** The error that `dataOfError` took apart. It has no stack of its origin. */
export const errorOfData = ({ code, message, ...options }: ErrorData): AppError =>
  new AppError(code, message, options)
