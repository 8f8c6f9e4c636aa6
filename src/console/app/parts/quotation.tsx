/** What somebody said, with its place. Every number of the console leads to quotations, and every quotation to its place. */
import type { ComponentChildren } from 'preact'
import { pageOf } from '../address.ts'
import type { Schemas } from '../api.ts'
import { clock, labelOf } from '../words.ts'
import { Tag, Time } from './small.tsx'
import type { Who } from './who.tsx'

export interface Place {
  readonly quote: string
  readonly href: string
  readonly where: string
  readonly at: string
  readonly kind?: string
  readonly tone?: string | null
  /** Null: unknown. */
  readonly who?: Who | null
}

/** `children` stand below, such as what can be done with it. */
export function Quotation({
  quote,
  href,
  where,
  at,
  kind,
  tone,
  who = null,
  children,
}: Place & { readonly children?: ComponentChildren }) {
  return (
    <figure class="quotation">
      {quote === '' ? <p class="quiet">Without words</p> : <blockquote dir="auto">{quote}</blockquote>}
      <figcaption>
        {kind === undefined ? null : <Tag value={kind} tone={tone} />}
        {who === null ? null : (
          <a href={who.href} dir="auto">
            {who.name}
          </a>
        )}
        <a href={href} data-row>
          {where}
        </a>
        <Time at={at} />
      </figcaption>
      {children}
    </figure>
  )
}

export function placeOfSignal(signal: Schemas['Signal']): Place {
  const { channel, evidence, comment, kind, rating, occurredAt, agentKey } = signal
  const id = signal.sessionId ?? signal.recordingId ?? String(signal.recordId ?? '')
  const { href, where } = placeOf(channel, id, {
    source: signal.feedbackSourceId,
    startSec: evidence?.startSec ?? null,
    messageId: evidence?.messageId ?? null,
  })
  return {
    quote: evidence?.quote ?? comment ?? '',
    href,
    where: agentKey === null ? where : `${where} with ${agentKey}`,
    at: occurredAt,
    kind,
    tone: rating,
  }
}

/** Where something of a channel stands. `source` is that of a feedback record. */
export function placeOf(
  channel: string,
  id: string,
  more: {
    readonly source?: number | null
    readonly startSec?: number | null
    readonly messageId?: string | null
  } = {},
): { readonly href: string; readonly where: string } {
  const { source, startSec, messageId } = more
  if (channel === 'recording')
    return {
      href: pageOf(`/calls/${id}`, startSec == null ? {} : { t: String(Math.floor(startSec)) }),
      where: startSec == null ? 'Call' : `Call at ${clock(startSec)}`,
    }
  if (channel === 'feedback') return { href: pageOf(`/feedback/${source ?? 0}/${id}`), where: 'Feedback' }
  const hash = messageId == null ? '' : `#message-${encodeURIComponent(messageId)}`
  return { href: `${pageOf(`/conversations/${id}`)}${hash}`, where: labelOf(channel) }
}
