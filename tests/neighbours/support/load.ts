/** Starts a process that sends requests; see `load.process.ts`. */
import { fileURLToPath } from 'node:url'

export interface LoadRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** `{{number}}` is replaced by another number in each request. */
  readonly body?: string
  /** The body is base64 of the bytes to send. */
  readonly base64?: boolean
  /** The client leaves after this time, whatever it has received. */
  readonly leaveMs?: number
}

export interface Load {
  readonly baseUrl: string
  readonly requests: readonly LoadRequest[]
  /** Requests at a time. */
  readonly clients: number
  /** Starts again with the first request when all were sent. */
  readonly repeats: boolean
  /** Requests a second; null: as many as are answered. */
  readonly perSecond: number | null
  /** After this time no other request begins. */
  readonly ms: number
}

export interface Sent {
  readonly sent: number
  /** Answers by status; `lost` without one. */
  readonly statuses: Readonly<Record<string, number>>
}

const PROGRAM = fileURLToPath(new URL('./load.process.ts', import.meta.url))

/** Resolves when the process is ready. `begin` starts the load, and resolves when every request is answered. */
export async function prepareLoad(load: Load): Promise<{ begin(): Promise<Sent> }> {
  const child = Bun.spawn([process.execPath, PROGRAM], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
  const output = child.stdout.getReader()
  child.stdin.write(`${JSON.stringify(load)}\n`)
  await child.stdin.flush()
  await output.read()
  return {
    async begin() {
      child.stdin.write('begin\n')
      await child.stdin.flush()
      const decoder = new TextDecoder()
      let text = ''
      for (let part = await output.read(); !part.done; part = await output.read())
        text += decoder.decode(part.value, { stream: true })
      await child.exited
      return JSON.parse(text) as Sent
    },
  }
}
