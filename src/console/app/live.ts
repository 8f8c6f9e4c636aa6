/** What arrives while the console is open: one stream of server-sent events for the whole page (docs/stream.md). */
import { useEffect, useState } from 'preact/hooks'
import { credentials, PREFIX } from './api.ts'

export const LIVE = {
  conversations: ['agent_session.created', 'agent_session.ended', 'agent_session.processed'],
  findings: ['signal.created', 'signal.updated'],
  calls: ['recording.created', 'recording.asset.changed', 'recording.transcript.changed'],
  feedback: ['feedback_record.created'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** Several events in a short time cause one rendering. */
const GATHER_MS = 500

let stream: EventSource | null = null

function openStream(): EventSource {
  const { organizationId } = credentials
  const query = organizationId === '' ? '' : `?${new URLSearchParams({ organization: organizationId })}`
  if (stream === null || stream.readyState === EventSource.CLOSED)
    stream = new EventSource(`${PREFIX}/v3/rest/stream${query}`)
  return stream
}

/** A number that rises after events of these types. */
export function useLive(subject: keyof typeof LIVE): number {
  const [round, setRound] = useState(0)
  useEffect(() => {
    const source = openStream()
    let timer: ReturnType<typeof setTimeout> | undefined
    const hear = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        setRound((before) => before + 1)
      }, GATHER_MS)
    }
    const types = [...LIVE[subject], 'reset']
    for (const type of types) source.addEventListener(type, hear)
    return () => {
      clearTimeout(timer)
      for (const type of types) source.removeEventListener(type, hear)
    }
  }, [subject])
  return round
}
