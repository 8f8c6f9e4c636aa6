/**
 * Appends to a file in large pieces, while the next one is filled.
 *
 * The rule: two buffers, whatever comes. Chunks of a request are small, and a system call for each of them costs more than
 * copying it; one that waits for the disk would keep the sender waiting, too.
 */
import type { FileHandle } from 'node:fs/promises'

/** Larger ones made writing no faster. */
const BUFFER_BYTES = 512 * 1024

/** Calls must follow each other; `settle` and `close` may come at any time. */
export class BufferedFile {
  readonly #file: FileHandle
  readonly #bufferBytes: number
  /** Where the bytes of the buffer will be. */
  #position: number
  #filled = 0
  #filling: Buffer | null = null
  #spare: Buffer | null = null
  #writing: Promise<void> = Promise.resolve()

  /** Goes on at `position`, bytes. The file is the caller's to open, and this one's to close. */
  constructor(file: FileHandle, position: number, bufferBytes = BUFFER_BYTES) {
    this.#file = file
    this.#bufferBytes = bufferBytes
    this.#position = position
  }

  /** Bytes of the file, those in memory included. */
  get end(): number {
    return this.#position + this.#filled
  }

  /** The chunk may be reused afterwards. @throws what went wrong when an earlier chunk was written */
  async write(chunk: Uint8Array): Promise<void> {
    for (let taken = 0; taken < chunk.byteLength; ) {
      this.#filling ??= Buffer.allocUnsafeSlow(this.#bufferBytes)
      const piece = chunk.subarray(taken, taken + this.#bufferBytes - this.#filled)
      this.#filling.set(piece, this.#filled)
      this.#filled += piece.byteLength
      taken += piece.byteLength
      if (this.#filled === this.#bufferBytes) await this.#handOver()
    }
  }

  /** Resolves when nothing is in memory, buffers neither; it may still not be on the disk. */
  async drain(): Promise<void> {
    if (this.#filled > 0) await this.#handOver()
    await this.#writing
    this.#filling = null
    this.#spare = null
  }

  /** Resolves when what was drained before is on the disk. Others may write meanwhile. */
  sync(): Promise<void> {
    return this.#file.datasync()
  }

  /** Bytes from `start` of what was drained. @throws Error where the file is shorter */
  async read(into: Uint8Array, start: number): Promise<void> {
    for (let filled = 0; filled < into.byteLength; ) {
      const { bytesRead } = await this.#file.read(into, filled, into.byteLength - filled, start + filled)
      if (bytesRead === 0) throw new Error('the file became shorter while it was being read')
      filled += bytesRead
    }
  }

  /** What is in memory only is lost. */
  async close(): Promise<void> {
    await this.#writing.catch(() => {})
    await this.#file.close()
  }

  async #handOver(): Promise<void> {
    await this.#writing
    const full = this.#filling
    if (full === null) return
    const [length, position] = [this.#filled, this.#position]
    this.#filling = this.#spare
    this.#position += length
    this.#filled = 0
    this.#spare = null
    this.#writing = this.#put(full, length, position)
    // Whoever comes next is told.
    this.#writing.catch(() => {})
  }

  async #put(buffer: Buffer, length: number, position: number): Promise<void> {
    for (let written = 0; written < length; ) {
      const { bytesWritten } = await this.#file.write(buffer, written, length - written, position + written)
      written += bytesWritten
    }
    this.#spare = buffer
  }
}
