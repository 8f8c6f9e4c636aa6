/** Makes requests of the story: the same ones for the same seed and time. Pure. */
import { createRandom } from '../../platform/random.ts'
import type { Customer, ToldCall, ToldConversation, ToldRecord } from './story.rules.ts'

const DAY_MS = 86_400_000
const SEED = 20_260_101
/** Who calls the customers, and whose link signs in. */
export const COLLEAGUE = {
  email: 'dana@larkfield.example',
  firstName: 'Dana',
  lastName: 'Whitlock',
} as const
/** Words that a speaker says in a second. */
const WORDS_A_SECOND = 2.6

/** The applications whose conversations the demo has: an assistant on the website, and one in the mobile app. */
export const AGENTS = ['help-assistant', 'app-assistant'] as const
const IN_APP = ['photos', 'jobs', 'devices', 'routes']

const fullName = ({ firstName, lastName }: Customer) => `${firstName} ${lastName}`

export const externalSessionId = (index: number) => `chat-${1_000 + index}`

/** The body of `POST /v3/rest/agent-conversations/ingest`; a second one if an answer is corrected later. */
export function conversationRequests(told: ToldConversation, index: number, now: number): readonly object[] {
  const random = createRandom(SEED + index)
  const agentKey = IN_APP.includes(told.area) ? AGENTS[1] : AGENTS[0]
  const { customer } = told
  const head = {
    agentKey,
    externalSessionId: externalSessionId(index),
    status: told.isOpen ? 'open' : 'ended',
    agentVersion: told.daysAgo < 20 ? '2.4.0' : '2.3.1',
    context: {
      productArea: told.area,
      surface: agentKey === AGENTS[0] ? 'help-center' : 'mobile-app',
      environment: 'production',
      ...(told.appVersion === null ? {} : { release: told.appVersion }),
    },
    participants: [
      {
        externalId: customer.key,
        displayName: fullName(customer),
        email: customer.email,
        companyExternalId: customer.domain,
        boundary: 'external',
      },
    ],
  }
  const first: object[] = []
  const corrections: object[] = []
  let time = now - told.daysAgo * DAY_MS
  let answer = { id: '', sequence: 0, occurredAt: '' }
  told.lines.forEach(({ sign, text }, line) => {
    const sequence = line + 1
    const externalEventId = `m${sequence}`
    time += sign === '<' ? 2_000 + random() * 6_000 : 15_000 + random() * 90_000
    const occurredAt = new Date(Math.min(time, now)).toISOString()
    const base = { externalEventId, sequence, revision: 1, occurredAt }
    if (sign === '~') return
    if (sign === '>')
      first.push({ ...base, type: 'user_message', participantExternalId: customer.key, content: text })
    if (sign === '<') {
      answer = { id: externalEventId, sequence, occurredAt }
      first.push({ ...base, type: 'assistant_message', content: text, ...costOf(text, random) })
    }
    if (sign === '+' || sign === '-')
      first.push({
        ...base,
        type: 'feedback',
        participantExternalId: customer.key,
        feedback: {
          targetEventExternalId: answer.id,
          rating: sign === '+' ? 'positive' : 'negative',
          ...(text === '' ? {} : { comment: text }),
        },
      })
    if (sign === '*')
      corrections.push({
        externalEventId: answer.id,
        sequence: answer.sequence,
        revision: 2,
        occurredAt: answer.occurredAt,
        type: 'assistant_message',
        content: text,
      })
  })
  const requests = [{ ...head, events: first }]
  return corrections.length === 0 ? requests : [...requests, { ...head, events: corrections }]
}

function costOf(text: string, random: () => number) {
  return {
    model: { provider: 'example', name: 'assistant-small' },
    usage: {
      inputTokens: 380 + Math.floor(random() * 900),
      outputTokens: Math.ceil(text.length / 3.6),
      latencyMs: 700 + Math.floor(random() * 2_600),
    },
    trace: { traceId: hex(random, 32), spanId: hex(random, 16) },
  }
}

const hex = (random: () => number, digits: number) =>
  Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('')

/** The body of `PUT /v3/rest/people` for the colleague: what she says is not what a customer says. */
export const colleagueRequest = (): object => ({
  email: COLLEAGUE.email,
  first_name: COLLEAGUE.firstName,
  last_name: COLLEAGUE.lastName,
  boundary: 'internal',
  company: { name: 'Larkfield', domain: 'larkfield.example' },
})

/** The body of `PUT /v3/rest/people`. */
export function personRequest(customer: Customer): object {
  const { email, firstName, lastName, company, domain } = customer
  return {
    email,
    first_name: firstName,
    last_name: lastName,
    boundary: 'external',
    company: { name: company, domain },
  }
}

/** The body of `POST /v3/rest/feedback-sources/{id}/records`. */
export function recordRequest(told: ToldRecord, index: number, now: number, personId: number | null): object {
  const field = (category: string, type: string, name: string, value: unknown) => ({
    category,
    type,
    name,
    value,
  })
  return {
    external_id: `demo-${index + 1}`,
    display_ts: new Date(now - told.daysAgo * DAY_MS).toISOString(),
    ...(personId === null ? {} : { person_id: personId }),
    fields: [
      field('content', 'string', 'comment', told.text),
      ...(told.score === null ? [] : [field('metadata', 'integer', 'score', told.score)]),
      ...(told.customer === null ? [] : [field('identity', 'string', 'company', told.customer.company)]),
    ],
  }
}

export interface Utterance {
  readonly startSec: number
  readonly endSec: number
  readonly speaker: number
  readonly text: string
}

/** When each line of a call is said. The company is speaker 0, the customer speaker 1. */
export function utterancesOf(told: ToldCall): readonly Utterance[] {
  let at = 0.6
  return told.lines.map(({ sign, text }) => {
    const startSec = at
    const endSec = round(startSec + 0.5 + text.split(' ').length / WORDS_A_SECOND)
    at = round(endSec + 0.5)
    return { startSec, endSec, speaker: sign === '<' ? 0 : 1, text }
  })
}

const round = (seconds: number) => Math.round(seconds * 10) / 10

/** The body of `POST /v3/rest/recordings`. */
export function callRequest(told: ToldCall, index: number, now: number): object {
  const transcript = utterancesOf(told)
  const startedAt = now - told.daysAgo * DAY_MS
  const { email, firstName, lastName } = told.customer
  return {
    displayName: told.name,
    startedAt: new Date(startedAt).toISOString(),
    completedAt: new Date(startedAt + (transcript.at(-1)?.endSec ?? 0) * 1_000).toISOString(),
    source: 'demo',
    record: { externalId: `demo-call-${index + 1}` },
    participants: [
      { speaker: 0, ...COLLEAGUE },
      { speaker: 1, email, firstName, lastName },
    ],
    transcript,
  }
}
