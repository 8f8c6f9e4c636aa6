/** Sends the requests of one window from a process of its own, so that they take no time from the process that measures. */
import type { Load, Sent } from './load.ts'

const lines = linesOf(Bun.stdin.stream())
const load: Load = JSON.parse(await nextLine())
const bodies = load.requests.map(({ body, base64 }) => (base64 ? Buffer.from(body ?? '', 'base64') : body))
const statuses: Record<string, number> = {}
let next = 0
let begun = 0

process.stdout.write('ready\n')
await nextLine()
begun = performance.now()
await Promise.all(Array.from({ length: load.clients }, sendInTurn))
const sent: Sent = { sent: next, statuses }
process.stdout.write(`${JSON.stringify(sent)}\n`)
process.exit(0)

async function sendInTurn(): Promise<void> {
  for (;;) {
    const number = next
    const dueMs = load.perSecond === null ? 0 : (number * 1_000) / load.perSecond
    const elapsedMs = performance.now() - begun
    if (Math.max(dueMs, elapsedMs) >= load.ms || (!load.repeats && number >= load.requests.length)) return
    next++
    if (dueMs > elapsedMs) await Bun.sleep(dueMs - elapsedMs)
    await send(number)
  }
}

async function send(number: number): Promise<void> {
  const index = number % load.requests.length
  const { method, path, headers, leaveMs } = load.requests[index] ?? { method: 'GET', path: '/', headers: {} }
  const body = bodyOf(bodies[index], number)
  let outcome = 'lost'
  try {
    const response = await fetch(`${load.baseUrl}${path}`, {
      method,
      headers: { ...headers },
      ...(body === undefined ? {} : { body }),
      ...(leaveMs === undefined ? {} : { signal: AbortSignal.timeout(leaveMs) }),
      decompress: false,
    } as RequestInit)
    if (leaveMs !== undefined) outcome = String(response.status)
    await response.arrayBuffer()
    outcome = String(response.status)
  } catch {}
  statuses[outcome] = (statuses[outcome] ?? 0) + 1
}

function bodyOf(body: string | Uint8Array | undefined, number: number) {
  return typeof body === 'string' ? body.replace('{{number}}', `${process.pid}-${number}`) : body
}

async function nextLine(): Promise<string> {
  return (await lines.next()).value ?? ''
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let parts: string[] = []
  for await (const chunk of stream) {
    const [first = '', ...rest] = decoder.decode(chunk, { stream: true }).split('\n')
    parts.push(first)
    for (const part of rest) {
      yield parts.join('')
      parts = [part]
    }
  }
}
