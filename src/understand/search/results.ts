/** Shows passages: texts with marks, titles and people. */
import { visibleText } from '../../hear/agents/events/visibility.ts'
import type { Channel } from '../../kernel/channel.ts'
import { eachInSteps } from '../../platform/concurrency/steps.ts'
import { inSlices, mapInSlices } from '../../platform/concurrency/time-slicing.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { textOf, wordsInSteps } from '../../platform/text/words.rules.ts'
import { headlineInSteps, plainLine } from './highlight.rules.ts'
import { MAX_PASSAGE } from './passage.rules.ts'
import * as store from './results.store.ts'

/** Words of a passage that can be marked. Only characters that stand for several words (`㍿`) give a passage more. */
const MAX_WORDS = MAX_PASSAGE

/** A passage as it is shown. */
export interface Shown {
  readonly channel: Channel
  readonly id: string
  /** The `externalEventId` of a message; null on other channels. */
  readonly messageId: string | null
  /** The name of a field of a feedback record; null on other channels. */
  readonly field: string | null
  /** The whole passage, on one line. */
  readonly text: string
  readonly feedbackSourceId: number | null
  readonly title: string | null
  /** With the markers of highlight.rules.ts. */
  readonly headline: string
  readonly occurredAt: Date
  readonly personId: string | null
  readonly startSec: number | null
}

/** The passages by id. Those that were deleted meanwhile are missing. */
export async function showPassages(
  tx: Tx,
  organizationId: string,
  hits: readonly { readonly id: number }[],
  query: string,
): Promise<ReadonlyMap<number, Shown>> {
  if (hits.length === 0) return new Map()
  const rows = await store.readPassages(
    tx,
    organizationId,
    hits.map(({ id }) => id),
  )
  const lines = await mapInSlices(rows, ({ content }) => plainLine(visibleText(content, MAX_PASSAGE)))
  const words = await inSlices(eachInSteps(lines, (line) => wordsInSteps(line, MAX_WORDS)))
  const texts = await mapInSlices(rows, ({ configuration }, n) => ({
    configuration,
    text: textOf(words[n]!),
  }))
  const headlines = await store.headlines(tx, texts, query)
  const byNumber = new Map(headlines.map(({ n, headline }) => [n - 1, headline]))
  const marked = await inSlices(
    eachInSteps(lines, (line, n) => headlineInSteps(line, words[n]!, byNumber.get(n) ?? '')),
  )
  return new Map(rows.map((row, n) => [row.id, shownOf(row, lines[n]!, marked[n]!)]))
}

function shownOf(row: store.PassageRow, text: string, headline: string): Shown {
  const speaker = participantOf(row)
  const name = speaker?.displayName ?? speaker?.username ?? speaker?.email
  return {
    channel: row.channel,
    id: row.subjectId,
    messageId: row.messageId,
    field: row.field,
    text,
    feedbackSourceId: row.feedbackSourceId,
    title: name ?? row.name,
    headline,
    occurredAt: row.occurredAt,
    personId: row.personUuid,
    startSec: row.startSec,
  }
}

/** Who wrote the message, or the only participant of the conversation. */
function participantOf({
  participants,
  participantExternalId,
}: store.PassageRow): store.Participant | undefined {
  const all = participants ?? []
  if (participantExternalId === null) return all.length === 1 ? all[0] : undefined
  return all.find(({ externalId }) => externalId === participantExternalId)
}
