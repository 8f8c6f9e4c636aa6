/**
 * Work on requests that could hold up the HTTP thread: parsing a large body, redacting a long conversation.
 *
 * A piece of work is a pure function with a name. It runs on the HTTP thread if it is small, else in a thread that can be ended;
 * it does not know where it runs, so input and output are plain data. It counts its work with `spend`, so that a long one ends.
 */
import { AppError, type ErrorCode, type ErrorDetail } from '../errors.ts'

/** Counts work in units of about 10 ns. Throws where there was too much: whoever does the work lets that pass. */
export type Spend = (units: number) => void

export interface Work<I, O> {
  /** The same in every thread. */
  readonly name: string
  /** @throws AppError, which the caller of the work gets */
  run(input: I, spend: Spend): O
}

/** Whose work it is, and what it weighs. */
export interface Load {
  /** Callers take turns, on the HTTP thread and in the others. */
  readonly caller: string
  /** Of the input. */
  readonly bytes: number
  /** What the work will take, as far as one can tell beforehand, in units of about 10 ns. */
  readonly units: number
}

export interface RequestWork {
  /**
   * @throws AppError what the work throws; 400 `request_too_costly` where it is too much for one request; 503 where it took
   * too long
   */
  run<I, O>(work: Work<I, O>, input: I, load: Load): Promise<O>
  /** Ends the threads. */
  close(): void
}

/** Units that one request may cause. 100 patterns of redaction over 2 MiB take 210 million. */
const MAX_UNITS = 400_000_000

/** Counts up to `maxUnits`, then throws what `excess` gives. */
export function meter(maxUnits: number, excess: () => Error): Spend {
  let left = maxUnits
  return (units) => {
    left -= units
    if (left < 0) throw excess()
  }
}

/** The most that one request may cause. */
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

export const dataOfError = ({ code, message, details, extra }: AppError): ErrorData => ({
  code,
  message,
  details,
  extra,
})

export const errorOfData = ({ code, message, ...options }: ErrorData): AppError =>
  new AppError(code, message, options)
