/** One conversation: its messages in order, and the findings beside the words on which they rest. */

import { useEffect, useState } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import { api, contentOf, type Schemas } from '../api.ts'
import { textOf } from '../content.ts'
import { useLoaded, usePages } from '../load.ts'
import { More } from '../parts/more.tsx'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Tag, Time, Title } from '../parts/small.tsx'
import { useWho } from '../parts/who.tsx'
import { basisWords, dateTime, labelOf, readWords } from '../words.ts'
import { speakerOf } from './conversations.tsx'

type Event = Schemas['StoredAgentEvent']
type Signal = Schemas['Signal']

const SESSION = '/v3/rest/agent-conversations/sessions/{sessionId}'

export function Conversation() {
  const { params } = useRoute()
  const sessionId = params.id ?? ''
  const first = useLoaded(sessionId, (signal) =>
    contentOf(api.GET(SESSION, { params: { path: { sessionId }, query: { limit: 1 } }, signal })),
  )
  const events = usePages(sessionId, async (cursor, signal) => {
    const query = { limit: 200, ...(cursor === undefined ? {} : { cursor }) }
    return (await contentOf(api.GET(SESSION, { params: { path: { sessionId }, query }, signal }))).events
  })
  const signals = useLoaded(sessionId, (signal) =>
    contentOf(api.GET('/v3/rest/signals', { params: { query: { sessionId, limit: 100 } }, signal })),
  )
  const personIds = new Set(
    [...(first.data?.participants ?? []), ...(signals.data?.data ?? [])].map(({ personId }) => personId),
  )
  const spoke = [...personIds].flatMap((personId) => (personId == null ? [] : [{ personId }]))
  const whoOf = useWho(spoke)
  const people = spoke.flatMap((one) => whoOf(one) ?? [])
  if (first.data === null)
    return first.state === 'failed' ? <ErrorNote problem={first.problem} /> : <Loading />
  const session = first.data
  const byMessage = Map.groupBy(
    signals.data?.data ?? [],
    (one) => one.evidence?.messageId ?? one.targetEventExternalId ?? '',
  )
  return (
    <article>
      <Title text={speakerOf(session)}>
        {session.outcome === null ? null : <Tag value={session.outcome} />}
        {session.sentiment === null ? null : <Tag value={session.sentiment} />}
      </Title>
      <dl class="facts">
        <Fact name="Agent" value={[session.agentKey, session.agentVersion].filter(Boolean).join(' ')} />
        <Fact name="Product area" value={session.context?.productArea} />
        <Fact name="Environment" value={session.environment} />
        <Fact name="Outcome" value={basisWords(session.outcomeBasis)} />
        <Fact name="Analysis" value={readWords(session.analysis)} />
        <Fact name="Status" value={`${session.status}, ${session.processingStatus}`} />
        <Fact name="Began" value={dateTime(session.startedAt)} />
        <Fact name="Last event" value={dateTime(session.endedAt)} />
        <Fact name="Session" value={session.externalSessionId} />
      </dl>
      {people.map((one) => (
        <p key={one.href}>
          <a href={one.href}>
            Everything that <bdi>{one.name}</bdi> said
          </a>
        </p>
      ))}
      <ol class="messages" aria-label="Messages">
        {events.rows.map((event) => (
          <Message
            key={event.externalEventId}
            event={event}
            signals={byMessage.get(event.externalEventId) ?? []}
          />
        ))}
      </ol>
      {events.problem === null ? null : <ErrorNote problem={events.problem} />}
      <More pages={events} />
    </article>
  )
}

function Fact({ name, value }: { readonly name: string; readonly value: string | null | undefined }) {
  return value === null || value === undefined || value === '' ? null : (
    <div>
      <dt>{name}</dt>
      <dd dir="auto">{value}</dd>
    </div>
  )
}

/** Findings of a message stand below it. `#message-ID` of the address marks one. */
function Message({ event, signals }: { readonly event: Event; readonly signals: readonly Signal[] }) {
  const [isRaw, setRaw] = useState(false)
  const id = `message-${event.externalEventId}`
  useEffect(() => {
    if (decodeURIComponent(location.hash) === `#${id}`)
      document.getElementById(id)?.scrollIntoView({ block: 'center' })
  }, [id])
  const who =
    event.type === 'user_message' ? 'customer' : event.type === 'assistant_message' ? 'agent' : 'other'
  return (
    <li id={id} class={`message ${who}`}>
      <header>
        <strong>{who === 'customer' ? 'Customer' : who === 'agent' ? 'Agent' : labelOf(event.type)}</strong>
        <Time at={event.occurredAt} />
        {event.revision > 1 ? <span class="quiet">revision {event.revision}</span> : null}
        {event.usage === undefined ? null : <Usage usage={event.usage} />}
        <button type="button" class="link" aria-expanded={isRaw} onClick={() => setRaw(!isRaw)}>
          {isRaw ? 'Hide event' : 'Event'}
        </button>
      </header>
      <p class="text" dir="auto">
        {event.feedback === undefined ? textOf(event.content) : <Rating feedback={event.feedback} />}
      </p>
      {signals.map((signal) => (
        <p key={signal.id} class="finding">
          <Tag value={signal.kind} tone={signal.rating} />
          {signal.evidence === null ? null : <q dir="auto">{signal.evidence.quote}</q>}
        </p>
      ))}
      {isRaw ? <pre class="raw">{JSON.stringify(event, null, 2)}</pre> : null}
    </li>
  )
}

function Usage({ usage }: { readonly usage: NonNullable<Event['usage']> }) {
  const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
  return (
    <span class="quiet">
      {tokens > 0 ? `${tokens} tokens` : ''}
      {usage.latencyMs === undefined ? '' : ` ${usage.latencyMs} ms`}
    </span>
  )
}

function Rating({ feedback: { rating, comment } }: { readonly feedback: NonNullable<Event['feedback']> }) {
  return (
    <>
      {rating === undefined ? null : <Tag value={rating} />} {comment}
    </>
  )
}
