/**
 * Appends to a file in large pieces. The next piece is filled while one is written.
 *
 * There are always two buffers. Chunks of a request are small: a system call for each would cost more than copying it, and
 * waiting for the disk would delay the sender.
 */
import type { FileHandle } from 'node:fs/promises'

/** Larger buffers did not make writing faster. */
const BUFFER_BYTES = 512 * 1024

/** Calls are sequential, except `sync` and `close`. */
export class BufferedFile {
  readonly #file: FileHandle
  readonly #bufferBytes: number
  /** The position of the buffer in the file. */
  #position: number
  #filled = 0
  #filling: Buffer | null = null
  #spare: Buffer | null = null
  #writing: Promise<void> = Promise.resolve()

  /** Continues at byte `position`. The caller opens the file; this class closes it. */
  constructor(file: FileHandle, position: number, bufferBytes = BUFFER_BYTES) {
    this.#file = file
    this.#bufferBytes = bufferBytes
    this.#position = position
  }

  /** Bytes of the file, including those in memory. */
  get end(): number {
    return this.#position + this.#filled
  }

  /** The caller may reuse the chunk. @throws the error of an earlier write */
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

  /** Resolves when all bytes are handed to the file and the buffers are freed. They may not be on the disk yet. */
  async drain(): Promise<void> {
    if (this.#filled > 0) await this.#handOver()
    await this.#writing
    this.#filling = null
    this.#spare = null
  }

  /** Resolves when all drained bytes are on the disk. Writes may continue meanwhile. */
  sync(): Promise<void> {
    return this.#file.datasync()
  }

  /** Reads drained bytes from `start`. @throws Error if the file is shorter */
  async read(into: Uint8Array, start: number): Promise<void> {
    for (let filled = 0; filled < into.byteLength; ) {
      const { bytesRead } = await this.#file.read(into, filled, into.byteLength - filled, start + filled)
      if (bytesRead === 0) throw new Error('the file became shorter while it was being read')
      filled += bytesRead
    }
  }

  /** Discards bytes that are only in memory. */
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
    // The next call reports the error.
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
