/** Sends a file to an upload URL by tus 1.0 (docs/uploads.md): from the stored offset on, in parts, again after interruptions. */

/** Bytes of one request. */
const PART = 4 * 1024 * 1024
/** Failures in a row before the upload gives up; waits double from one second. */
const FAILURES = 6
const TUS = { 'tus-resumable': '1.0.0' }

interface Sending {
  readonly onProgress: (sent: number) => void
  readonly signal: AbortSignal
}

/** Resolves when all bytes are stored. @throws Error if the upload takes no bytes, or the connection stays broken */
export async function sendFile(url: string, file: File, { onProgress, signal }: Sending): Promise<void> {
  let failures = 0
  while (true) {
    try {
      let offset = await offsetOf(url, signal)
      onProgress(offset)
      while (offset < file.size) {
        offset = await sendPart(url, file, offset, signal)
        failures = 0
        onProgress(offset)
      }
      return
    } catch (error) {
      failures++
      if (signal.aborted || error instanceof Refused || failures > FAILURES) throw error
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** failures))
    }
  }
}

/** The upload takes no bytes any more. */
class Refused extends Error {}

async function offsetOf(url: string, signal: AbortSignal): Promise<number> {
  const answer = await fetch(url, { method: 'HEAD', headers: TUS, signal })
  return offsetIn(answer)
}

async function sendPart(url: string, file: File, offset: number, signal: AbortSignal): Promise<number> {
  const answer = await fetch(url, {
    method: 'PATCH',
    headers: {
      ...TUS,
      'content-type': 'application/offset+octet-stream',
      'upload-offset': String(offset),
    },
    body: file.slice(offset, offset + PART),
    signal,
  })
  return offsetIn(answer)
}

function offsetIn(answer: Response): number {
  const offset = Number(answer.headers.get('upload-offset') ?? Number.NaN)
  if (answer.ok && Number.isSafeInteger(offset)) return offset
  if ([403, 404, 410, 413].includes(answer.status))
    throw new Refused(`The upload was refused (${answer.status}).`)
  throw new Error(`The service answered ${answer.status}.`)
}
