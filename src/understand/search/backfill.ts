/** Indexes again what was indexed by former rules (`platform/text/words.rules.ts`), or not at all: background changes with progress in `earshot doctor`. */

import { type DetectLanguage, loadLanguage } from '../../analysis/analyze/builtin/language.ts'
import type { TextWork } from '../../analysis/analyze/text-work.ts'
import type { ComputedChange } from '../../platform/db/data-change.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import {
  recordSamples,
  recordTexts,
  samplesOf,
  textsOf,
  writeMessages,
  writeRecords,
  writeSpeech,
} from './indexing.ts'
import { meaningsOf } from './meaning.ts'
import { languageSample, speechPassages } from './passage.rules.ts'
import { lockRecords, readMessages, readSpeech } from './passages.store.ts'

/** A step that waits longer for the text process fails, and is tried again a minute later. */
const MEANING_MS = 20_000
/** Messages of one session. Of longer sessions, these are the first. */
const MESSAGES = 2_000

type Messages = ReturnType<typeof textsOf>

const wordsOf = ({ sessionId, externalEventId, text }: Messages[number]): string =>
  `${sessionId} ${externalEventId} ${Bun.hash(text)}`

async function messagesOf(sql: Query, sessionIds: readonly string[]): Promise<Messages> {
  const ranges = sessionIds.map((sessionId) => ({
    sessionId,
    after: -1,
    through: Number.MAX_SAFE_INTEGER,
    late: [],
  }))
  return textsOf(await readMessages(sql, ranges, MESSAGES))
}

/** They load the language detector once, when the first of them has work. */
export function createSearchChanges(textWork: TextWork): readonly ComputedChange[] {
  let loading: Promise<DetectLanguage> | null = null
  const detector = () => {
    loading ??= loadLanguage()
    return loading
  }
  const detected = async (texts: readonly string[]) => texts.map(await detector())
  const meanings = (texts: readonly string[]) => meaningsOf(textWork, texts, AbortSignal.timeout(MEANING_MS))
  const sessions: ComputedChange = {
    name: 'search_meaning_of_sessions',
    table: 'agent_session',
    key: 'id',
    rowsPerStep: 5,
    async compute(sql, keys) {
      const messages = await messagesOf(sql, keys)
      const samples = [...samplesOf(messages)]
      const languages = await detected(samples.map(([, text]) => text))
      const byId = new Map(samples.map(([id], index) => [id, languages[index] ?? null]))
      const found = await meanings(messages.map(({ text }) => text))
      const seen = new Set(messages.map(wordsOf))
      return async (tx, locked) => {
        // The actor indexes what came or was revised since.
        const same = (await messagesOf(tx, locked)).filter((message) => seen.has(wordsOf(message)))
        await writeMessages(tx, same, byId, found)
      }
    },
  }
  const feedback: ComputedChange = {
    name: 'search_meaning_of_feedback',
    table: 'feedback_record',
    key: 'id',
    rowsPerStep: 50,
    async compute(sql, keys) {
      const records = await transaction(sql, (tx) => lockRecords(tx, keys.map(Number)))
      const languages = await detected(recordSamples(records))
      const byId = new Map(records.map(({ id }, index) => [id, languages[index] ?? null]))
      const found = await meanings(recordTexts(records))
      return (tx) => writeRecords(tx, [...byId.keys()], byId, found)
    },
  }
  const recordings: ComputedChange = {
    name: 'search_meaning_of_recordings',
    table: 'recording',
    key: 'id',
    rowsPerStep: 2,
    async compute(sql, keys) {
      const work: ((tx: Tx) => Promise<void>)[] = []
      for (const id of keys) {
        const speech = await readSpeech(sql, id)
        const sample = languageSample(speech.slice(0, 100).map(({ text }) => text))
        const [language = null] = await detected([sample])
        const found = await meanings(speechPassages(speech).map(({ text }) => text))
        work.push((tx) => writeSpeech(tx, id, language, found))
      }
      return async (tx) => {
        for (const write of work) await write(tx)
      }
    },
  }
  return [sessions, feedback, recordings]
}
