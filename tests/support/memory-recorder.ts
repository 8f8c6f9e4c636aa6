/** A recorder in this process, for tests of what happens around it. It speaks no protocol: the drivers have tests of their own. */
import {
  type BotReport,
  type JoinRequest,
  type Recorder,
  RecorderError,
  type RecorderMedia,
  type RecorderName,
  type Utterance,
} from '../../src/calls/meetings/recorder.ts'

interface MemoryBot {
  readonly id: string
  readonly request: JoinRequest
  report: BotReport
  media: RecorderMedia | null
  transcript: readonly Utterance[] | null
  left: boolean
  deleted: boolean
}

export interface MemoryRecorder extends Recorder {
  readonly bots: readonly MemoryBot[]
  /** How often each operation was called. */
  readonly calls: Readonly<Record<string, number>>
  /** Called before an operation: may throw, or wait. `after`: what happens when the operation was done, before its answer. */
  before: (operation: string, signal: AbortSignal) => Promise<void> | void
  after: (operation: string) => Promise<void> | void
  botOf(joinId: string): MemoryBot
}

export function createMemoryRecorder(name: RecorderName = 'attendee'): MemoryRecorder {
  const bots: MemoryBot[] = []
  const calls: Record<string, number> = {}
  const found = (joinId: string) => bots.find(({ request }) => request.joinId === joinId)
  const bot = (id: string) => {
    const known = bots.find((one) => one.id === id)
    if (known === undefined) throw new RecorderError('unknown bot', 'terminal')
    return known
  }
  const recorder: MemoryRecorder = {
    name,
    platforms: ['zoom', 'google_meet', 'teams'],
    bots,
    calls,
    before: () => {},
    after: () => {},
    botOf(joinId) {
      const known = found(joinId)
      if (known === undefined) throw new Error(`no bot for the join ${joinId}`)
      return known
    },
    join: (request, signal) =>
      act('join', signal, () => {
        const known = found(request.joinId)
        if (known !== undefined) return { botId: known.id }
        const made: MemoryBot = {
          id: `bot_${bots.length + 1}`,
          request,
          report: { state: request.joinAt === null ? 'joining' : 'scheduled' },
          media: null,
          transcript: null,
          left: false,
          deleted: false,
        }
        bots.push(made)
        return { botId: made.id }
      }),
    find: (request, signal) =>
      act('find', signal, () => {
        const known = found(request.joinId)
        return known === undefined ? null : { botId: known.id }
      }),
    status: (id, signal) => act('status', signal, () => bot(id).report),
    leave: (id, signal) =>
      act('leave', signal, () => {
        bot(id).left = true
      }),
    media: (id, signal) => act('media', signal, () => bot(id).media),
    transcript: (id, signal) => act('transcript', signal, () => bot(id).transcript),
    deleteData: (id, signal) =>
      act('deleteData', signal, () => {
        bot(id).deleted = true
      }),
    verifyNudge(headers, rawBody) {
      if (headers.get('x-signature') !== 'good') return null
      try {
        return JSON.parse(new TextDecoder().decode(rawBody))
      } catch {
        return null
      }
    },
  }

  async function act<T>(operation: string, signal: AbortSignal, work: () => T): Promise<T> {
    calls[operation] = (calls[operation] ?? 0) + 1
    await recorder.before(operation, signal)
    signal.throwIfAborted()
    const result = work()
    await recorder.after(operation)
    return result
  }
  return recorder
}
