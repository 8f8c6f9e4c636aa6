/** What arrives while the console is open: one stream of server-sent events for the whole page (docs/stream.md). */
import { useEffect, useState } from 'preact/hooks'
import { credentials, PREFIX } from './api.ts'
import { pauseAfter } from './reconnect.ts'

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
  const [closed, setClosed] = useState(0)
  useEffect(() => {
    const source = openStream()
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const hear = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        setRound((before) => before + 1)
      }, GATHER_MS)
    }
    // The browser connects again by itself, but not after an answer of a proxy that the service is away. Then events were missed.
    const reopen = async () => {
      if (source.readyState !== EventSource.CLOSED) return
      await pauseAfter(closed, stop.signal)
      if (stop.signal.aborted) return
      setClosed((before) => before + 1)
      hear()
    }
    source.addEventListener('error', reopen)
    const types = [...LIVE[subject], 'reset']
    for (const type of types) source.addEventListener(type, hear)
    return () => {
      stop.abort()
      clearTimeout(timer)
      source.removeEventListener('error', reopen)
      for (const type of types) source.removeEventListener(type, hear)
    }
  }, [subject, closed])
  return round
}
