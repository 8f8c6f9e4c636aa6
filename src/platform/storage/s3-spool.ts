/**
 * Collects the bytes of one S3 request in a temporary file.
 *
 * Memory grows neither with the part nor with the number of parts. The hash that S3 signs is computed while the bytes arrive,
 * so a request can be sent and repeated straight from the file. The file has no name and disappears with the process.
 */
import { mkdir, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { S3Client } from '@aws-sdk/client-s3'
import { BufferedFile } from './buffered-file.ts'
import type { Digest } from './s3-checksum.ts'
import type { S3Config } from './s3-config.ts'
import { statusOf } from './s3-errors.ts'

/** Small, because each concurrent part has a spool, and nothing waits for the disk. */
const BUFFER_BYTES = 128 * 1024
const READ_BYTES = 64 * 1024
const MAX_ATTEMPTS = 5
const FIRST_PAUSE_MS = 100

/** What a command needs besides its own. */
interface Payload extends Digest {
  readonly Body: Readable
  readonly ContentLength: number
}

export type SpoolRequest<T> = (payload: Payload, abortSignal: AbortSignal) => Promise<T>

/** Use: `open`, `write` as often as needed, `send`, `close`. */
export class Spool {
  readonly #file: BufferedFile
  readonly #hash = new Bun.CryptoHasher('sha256')

  readonly #md5: Bun.CryptoHasher | null

  private constructor(file: BufferedFile, checksum: S3Config['checksum']) {
    this.#file = file
    this.#md5 = checksum === 'none' ? null : new Bun.CryptoHasher('md5')
  }

  /** Creates the folder if it is missing. */
  static async open(folder: string, checksum: S3Config['checksum']): Promise<Spool> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const path = join(folder, crypto.randomUUID())
    const file = await open(path, 'wx+', 0o600)
    await unlink(path)
    return new Spool(new BufferedFile(file, 0, BUFFER_BYTES), checksum)
  }

  /** Bytes written so far. */
  get bytes(): number {
    return this.#file.end
  }

  /** The caller may reuse the chunk. */
  async write(chunk: Uint8Array): Promise<void> {
    this.#hash.update(chunk)
    this.#md5?.update(chunk)
    await this.#file.write(chunk)
  }

  /**
   * Sends the collected bytes. Nothing may be written meanwhile.
   * @throws the server's last error, an error of the file, or the reason of the signal
   */
  async send<T>(request: SpoolRequest<T>, signal: AbortSignal): Promise<T> {
    await this.#file.drain()
    for (let attempt = 1, pause = FIRST_PAUSE_MS; ; attempt++, pause *= 2) {
      signal.throwIfAborted()
      try {
        return await this.#sendOnce(request, signal)
      } catch (error) {
        signal.throwIfAborted()
        if (attempt === MAX_ATTEMPTS || !isPassing(error)) throw error
      }
      await delay(pause * (1 + Math.random()), undefined, { signal }).catch(() => {})
    }
  }

  async #sendOnce<T>(request: SpoolRequest<T>, signal: AbortSignal): Promise<T> {
    const Body = new SpooledBody(this.#read(), this.#hash.copy().digest('hex'))
    const broken = new AbortController()
    // The client ignores the signal here and would wait for the rest.
    Body.on('error', (error) => broken.abort(error))
    try {
      const abortSignal = AbortSignal.any([signal, broken.signal])
      const digest = this.#md5 === null ? {} : { ContentMD5: this.#md5.copy().digest('base64') }
      return await request({ Body, ContentLength: this.bytes, ...digest }, abortSignal)
    } catch (error) {
      if (broken.signal.aborted) throw new SpoolBroken(broken.signal.reason)
      throw error
    } finally {
      Body.destroy()
    }
  }

  /** Frees the space on the disk. */
  close(): Promise<void> {
    return this.#file.close()
  }

  async *#read(): AsyncGenerator<Buffer> {
    for (let at = 0; at < this.bytes; at += READ_BYTES) {
      const chunk = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, this.bytes - at))
      await this.#file.read(chunk, at)
      yield chunk
    }
  }
}

/** True if the server was unreachable, failed, or asks to slow down. */
function isPassing(error: unknown): boolean {
  if (error instanceof SpoolBroken) return false
  const status = statusOf(error)
  return status === undefined || status >= 500 || status === 429 || status === 408
}

/** The collected bytes cannot be read any more. The client has to send them again. */
class SpoolBroken extends Error {
  override readonly name = 'SpoolBroken'
  constructor(cause: unknown) {
    super('bytes on their way to the object store could not be read', { cause })
  }
}

/** The request body, with the values that the client could compute only by holding all of it in memory. */
class SpooledBody extends Readable {
  readonly sha256: string
  readonly #chunks: AsyncGenerator<Buffer>

  constructor(chunks: AsyncGenerator<Buffer>, sha256: string) {
    super()
    this.#chunks = chunks
    this.sha256 = sha256
  }

  override _read(): void {
    this.#chunks.next().then(
      ({ value }) => this.push(value ?? null),
      (error) => this.destroy(error),
    )
  }
}

/** Signs requests with the payload hash of their spool. */
export function signSpooled(client: S3Client): void {
  client.middlewareStack.add(
    (next) => (args) => {
      const { body, headers } = args.request as { body?: unknown; headers: Record<string, string> }
      if (body instanceof SpooledBody) headers['x-amz-content-sha256'] = body.sha256
      return next(args)
    },
    { step: 'build', name: 'signSpooled' },
  )
}
