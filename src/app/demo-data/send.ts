/** Sends the story to the service: people, conversations, feedback, and calls with their sound. */
import { type Call, each } from './client.ts'
import * as requests from './requests.rules.ts'
import { soundOf } from './sound.rules.ts'
import type { Story, ToldCall } from './story.rules.ts'

const AT_ONCE = 4

export interface Sending {
  /** Calls with the key of the organization. */
  readonly call: Call
  /** Calls with the secret of an agent, by its key. */
  readonly agents: Readonly<Record<string, Call>>
  readonly story: Story
  /** Milliseconds; everything is said before. */
  readonly now: number
  readonly signal: AbortSignal
  /** Called after each thing that was stored. */
  readonly onSent: () => void
}

/** What was stored, by which its findings are found again. */
export interface Sent {
  /** Index of the record in the story, by the id of the stored one. */
  readonly records: ReadonlyMap<number, number>
}

export async function sendStory(sending: Sending): Promise<Sent> {
  const people = await sendPeople(sending)
  await sendConversations(sending)
  const records = await sendRecords(sending, people)
  // The list of calls shows what came last first.
  const calls = sending.story.calls.map((told, index) => ({ told, index }))
  const oldestFirst = calls.toSorted((one, other) => other.told.daysAgo - one.told.daysAgo)
  await each(oldestFirst, 2, ({ told, index }) => sendCall(sending, told, index))
  return { records }
}

/** @returns ids by the key of the customer */
async function sendPeople({ story, call }: Sending): Promise<ReadonlyMap<string, number>> {
  const ids = new Map<string, number>()
  await call('PUT', '/v3/rest/people', requests.colleagueRequest())
  for (const customer of story.customers) {
    const { id } = await call<{ id: number }>('PUT', '/v3/rest/people', requests.personRequest(customer))
    ids.set(customer.key, id)
  }
  return ids
}

async function sendConversations({ story, agents, now, onSent }: Sending): Promise<void> {
  await each(story.conversations, AT_ONCE, async (told, index) => {
    for (const body of requests.conversationRequests(told, index, now)) {
      const { agentKey } = body as { agentKey: string }
      await agents[agentKey]?.('POST', '/v3/rest/agent-conversations/ingest', body)
    }
    onSent()
  })
}

async function sendRecords(
  { story, call, now, onSent }: Sending,
  people: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<number, number>> {
  const sources = new Map<string, number>()
  for (const name of new Set(story.records.map(({ source }) => source))) {
    const { id } = await call<{ id: number }>('POST', '/v3/rest/feedback-sources', { name })
    sources.set(name, id)
  }
  const stored = new Map<number, number>()
  await each(story.records, AT_ONCE, async (told, index) => {
    const personId = told.customer === null ? null : (people.get(told.customer.key) ?? null)
    const path = `/v3/rest/feedback-sources/${sources.get(told.source)}/records`
    const body = requests.recordRequest(told, index, now, personId)
    const { id } = await call<{ id: number }>('POST', path, body)
    stored.set(id, index)
    onSent()
  })
  return stored
}

async function sendCall(
  { call, now, signal, onSent }: Sending,
  told: ToldCall,
  index: number,
): Promise<void> {
  const { id } = await call<{ id: string }>(
    'POST',
    '/v3/rest/recordings',
    requests.callRequest(told, index, now),
  )
  const sound = soundOf(requests.utterancesOf(told))
  const { uploadUrl } = await call<{ uploadUrl: string }>('POST', `/v3/rest/recordings/${id}/uploads`, {
    fileName: `call-${index + 1}.wav`,
    fileSize: sound.byteLength,
  })
  const answer = await fetch(uploadUrl, { method: 'PUT', body: sound, signal })
  if (!answer.ok) throw new Error(`an upload was answered with ${answer.status}: ${await answer.text()}`)
  onSent()
}
