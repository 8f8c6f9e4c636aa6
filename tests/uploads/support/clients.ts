/** Common upload clients. Each continues until the whole file has arrived. */
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Upload } from 'tus-js-client'
import type { MediaFile } from './media-files.ts'

interface Sent {
  /** Offsets from which the client resumed after a lost connection. */
  readonly resumedAt: readonly number[]
}

interface Sending {
  /** Folder for files of the client itself. */
  readonly folder: string
  /** The number of chunks, for clients that send chunks. */
  readonly chunks: number
}

export type Client = (url: string, file: MediaFile, sending: Sending) => Promise<Sent>

const MAX_ATTEMPTS = 300
/** Retries wait a moment, so that a starting process gets processor time on a busy machine. */
const RETRY_MS = 100

/** tus-js-client with its own retries; undisturbed, it sends as many requests as there are chunks. */
const tus: Client = (url, { bytes }, { chunks }) =>
  new Promise((resolve, reject) => {
    const resumedAt: number[] = []
    const upload = new Upload(bytes, {
      uploadUrl: url,
      chunkSize: Math.ceil(bytes.byteLength / chunks),
      retryDelays: Array(MAX_ATTEMPTS).fill(RETRY_MS),
      storeFingerprintForResuming: false,
      onAfterResponse(request, response) {
        if (request.getMethod() === 'HEAD') resumedAt.push(Number(response.getHeader('upload-offset')))
      },
      onSuccess: () => resolve({ resumedAt }),
      onError: reject,
    })
    upload.start()
  })

/** `curl -T`, repeated until it succeeds. */
const curlWhole: Client = async (url, { path }, { folder }) => {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const { status } = await curl(folder, url, ['-T', path])
    if (status === 200 || status === 201) return { resumedAt: [] }
    await Bun.sleep(RETRY_MS)
  }
  throw new Error('never arrived')
}

/** `curl` that asks for the stored range and sends the rest, like a shell script. */
const curlRange: Client = async (url, { bytes }, { folder }) => {
  const total = bytes.byteLength
  const resumedAt: number[] = []
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const probe = await curl(folder, url, [
      '-X',
      'PUT',
      '-H',
      `Content-Range: bytes */${total}`,
      '-H',
      'Content-Length: 0',
    ])
    if (probe.status === 200) return { resumedAt }
    if (probe.status !== 308) {
      await Bun.sleep(RETRY_MS)
      continue
    }
    const next = Number(/^range: bytes=0-(\d+)/im.exec(probe.head)?.[1] ?? -1) + 1
    resumedAt.push(next)
    const rest = join(folder, crypto.randomUUID())
    await write(rest, bytes.subarray(next))
    await curl(folder, url, ['-T', rest, '-H', `Content-Range: bytes ${next}-${total - 1}/${total}`])
  }
  throw new Error('never arrived')
}

export const CLIENTS = {
  'tus-js-client': tus,
  'curl -T': curlWhole,
  'curl with Content-Range': curlRange,
} as const satisfies Readonly<Record<string, Client>>

export type ClientName = keyof typeof CLIENTS

/** Status 0: no response. */
async function curl(folder: string, url: string, options: readonly string[]) {
  const head = join(folder, crypto.randomUUID())
  const child = Bun.spawn(
    ['curl', '--silent', '--max-time', '50', '--output', '/dev/null', '--dump-header', head, ...options, url],
    { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' },
  )
  await child.exited
  const text = await Bun.file(head)
    .text()
    .catch(() => '')
  // Skips a `100 Continue`.
  const last = text.split(/(?=^HTTP\/)/m).at(-1) ?? ''
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(last)?.[1] ?? 0), head: last }
}

function write(path: string, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    createWriteStream(path)
      .on('error', reject)
      .end(bytes, () => resolve())
  })
}
