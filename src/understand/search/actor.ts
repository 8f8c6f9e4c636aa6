/**
 * The actors that make what was said searchable, after the turn or the request that stored it. Each reads texts, has their language
 * detected and their vectors computed outside of any transaction, and replaces the passages.
 *
 * Sessions share turns: one read, one text job for each organization, one write.
 */

import { defineActor, type PayloadOf } from '../../actors/declaration.ts'
import {
  type ActorDefinition,
  asGroupTurn,
  type GroupTurn,
  type LongTurn,
  type NewMessage,
} from '../../actors/types.ts'
import type { AnalyzerDeps } from '../../analysis/analyze/create.ts'
import type { TextWork } from '../../analysis/analyze/text-work.ts'
import type { Deps } from '../../kernel/deps.ts'
import { passageMessages } from '../../kernel/messages/passage.ts'
import {
  recordSamples,
  recordTexts,
  samplesOf,
  textsOf,
  writeMessages,
  writeRecords,
  writeSpeech,
} from './indexing.ts'
import { type Meaning, meaningsOf } from './meaning.ts'
import { languageSample, speechPassages } from './passage.rules.ts'
import { lockRecords, readMessages, readSpeech } from './passages.store.ts'

/** Messages that a turn reads of one session, and of all sessions. They bound the memory of a turn. */
const PAGE = 100
const PAGE_TOGETHER = 256
/** Late messages that a turn reads of one session. */
const LATE = 100

type Range = PayloadOf<typeof passageMessages, 'session'>

export function passageActor({ textWork }: Pick<Deps & AnalyzerDeps, 'textWork'>): ActorDefinition {
  const together = (turn: GroupTurn) => indexSessions(textWork, turn)
  const alone = (turn: LongTurn) => together(asGroupTurn(turn))
  return defineActor(passageMessages, {
    maxAttempts: 10,
    handlers: {
      session: { together, alone },
      recording: (turn) => indexRecording(textWork, turn),
      feedback: (turn) => indexFeedback(textWork, turn),
    },
  })
}

async function indexSessions(textWork: TextWork, turn: GroupTurn): Promise<void> {
  // The runtime has checked the payloads against the declaration.
  const ranges = turn.messages.map(({ id, payload }) => ({ sessionId: id, ...(payload as unknown as Range) }))
  const size = Math.min(PAGE, Math.ceil(PAGE_TOGETHER / ranges.length))
  const read = ranges.map((range) => ({ ...range, late: range.late.slice(0, LATE) }))
  const messages = textsOf(await turn.read((tx) => readMessages(tx, read, size)))
  const samples = samplesOf(messages)
  const organizations = new Map(turn.messages.map(({ id }, n) => [id, turn.organizations[n] ?? '']))
  const languages = new Map<string, string | null>()
  const meanings = new Map<string, Meaning>()
  const groups = Map.groupBy(samples, ([id]) => organizations.get(id) ?? '')
  for (const [organization, group] of groups) {
    const texts = group.map(([, text]) => text)
    const found = await textWork.run('languages', texts, turn.signal, organization)
    for (const [index, [id]] of group.entries()) languages.set(id, found[index] ?? null)
    const said = messages.filter(({ sessionId }) => organizations.get(sessionId) === organization)
    const own = await meaningsOf(
      textWork,
      said.map(({ text }) => text),
      turn.signal,
      organization,
    )
    for (const [text, meaning] of own) meanings.set(text, meaning)
  }
  await turn.finish(async (tx, send) => {
    await writeMessages(tx, messages, languages, meanings)
    await send(
      ranges.flatMap((range) => {
        const own = messages.filter(({ sessionId, isLate }) => sessionId === range.sessionId && !isLate)
        return restOf(range, own.length === size ? own.at(-1)?.sequence : undefined)
      }),
    )
  })
}

/** What is left of a range after a full page that ended with the sequence `last`. */
function restOf(
  { through, late, sessionId }: Range & { readonly sessionId: string },
  last: number | undefined,
): readonly NewMessage[] {
  const left = late.slice(LATE)
  if (last === undefined && left.length === 0) return []
  const payload = { after: last ?? through, through, late: left }
  return [passageMessages.message(sessionId, 'session', { payload })]
}

async function indexRecording(textWork: TextWork, turn: LongTurn): Promise<void> {
  const { id } = turn.message
  const speech = await turn.read((tx) => readSpeech(tx, id))
  const sample = languageSample(speech.slice(0, 100).map(({ text }) => text))
  const [language = null] = await textWork.run('languages', [sample], turn.signal, turn.organization)
  const texts = speechPassages(speech).map(({ text }) => text)
  const meanings = await meaningsOf(textWork, texts, turn.signal, turn.organization)
  await turn.finish((tx) => writeSpeech(tx, id, language, meanings))
}

async function indexFeedback(
  textWork: TextWork,
  turn: LongTurn<PayloadOf<typeof passageMessages, 'feedback'>>,
): Promise<void> {
  const ids = turn.message.payload.recordIds
  const records = await turn.step((tx) => lockRecords(tx, ids))
  const languages = await textWork.run('languages', recordSamples(records), turn.signal, turn.organization)
  const byId = new Map(records.map(({ id }, index) => [id, languages[index] ?? null]))
  const meanings = await meaningsOf(textWork, recordTexts(records), turn.signal, turn.organization)
  await turn.finish((tx) => writeRecords(tx, ids, byId, meanings))
}
