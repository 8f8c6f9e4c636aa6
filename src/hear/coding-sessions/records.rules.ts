/**
 * Cuts the bytes of a session file into records, whatever pieces the bytes come in. Pure, apart from its own state.
 *
 * A record is a line. A file whose first line is only `{` is one JSON document over many lines, and one record. At most
 * `MAX_RECORD_BYTES` are held; a longer record is skipped.
 */

export const MAX_RECORD_BYTES = 16 * 1024 * 1024

/** A record, or null for one that is too long. */
export type FileRecord = string | null

const NEWLINE = 0x0a

export class RecordSplitter {
  readonly #decoder = new TextDecoder()
  #held: Uint8Array[] = []
  #size = 0
  #isTooLong = false
  /** null: the first line is not complete yet. */
  #isDocument: boolean | null = null

  /** Appends the complete records to `out`. The bytes are copied if they are needed later. */
  push(bytes: Uint8Array, out: FileRecord[]): void {
    let start = 0
    while (this.#isDocument !== true) {
      const end = bytes.indexOf(NEWLINE, start)
      if (end === -1) break
      const rest = bytes.subarray(start, end)
      start = end + 1
      this.#line(this.#takeWith(rest), out)
    }
    if (start < bytes.length) this.#hold(bytes.slice(start))
  }

  /** The file has ended. The last line may lack its end. */
  end(out: FileRecord[]): void {
    if (this.#size > 0 || this.#isTooLong) out.push(this.#take())
  }

  #line(record: FileRecord, out: FileRecord[]): void {
    this.#isDocument ??= record?.trim() === '{'
    if (this.#isDocument) this.#hold(new TextEncoder().encode('{\n'))
    else out.push(record)
  }

  #hold(bytes: Uint8Array): void {
    if (this.#isTooLong || bytes.length === 0) return
    this.#size += bytes.length
    this.#held.push(bytes)
    if (this.#size <= MAX_RECORD_BYTES) return
    this.#isTooLong = true
    this.#held = []
    this.#size = 0
  }

  /** What is held, and `rest`. Most lines are in one piece and need not be held: that is twice as fast with short lines. */
  #takeWith(rest: Uint8Array): FileRecord {
    const isWhole = this.#size === 0 && !this.#isTooLong && rest.length <= MAX_RECORD_BYTES
    if (isWhole) return rest.length === 0 ? '' : this.#decoder.decode(rest)
    this.#hold(rest)
    return this.#take()
  }

  #take(): FileRecord {
    const record = this.#isTooLong ? null : this.#decoder.decode(joined(this.#held, this.#size))
    this.#held = []
    this.#size = 0
    this.#isTooLong = false
    return record
  }
}

function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  if (pieces.length === 1) return pieces[0] as Uint8Array
  const whole = new Uint8Array(size)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

/** The records of a text that is in memory. */
export function recordsOf(text: string): readonly FileRecord[] {
  const out: FileRecord[] = []
  const splitter = new RecordSplitter()
  splitter.push(new TextEncoder().encode(text), out)
  splitter.end(out)
  return out
}
