/** Indexes again what was indexed by former rules (`platform/text/words.rules.ts`), or not at all: background changes with progress in `earshot doctor`. */
import { type DetectLanguage, loadLanguage } from '../analyze/builtin/language.ts'
import type { TextWork } from '../analyze/text-work.ts'
import type { DataChange } from '../platform/db/data-change.ts'
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

/** They load the language detector once, when the first of them has work. */
export function createSearchChanges(textWork: TextWork): readonly DataChange[] {
  let loading: Promise<DetectLanguage> | null = null
  const detector = () => {
    loading ??= loadLanguage()
    return loading
  }
  const detected = async (texts: readonly string[]) => texts.map(await detector())
  const meanings = (texts: readonly string[]) => meaningsOf(textWork, texts, AbortSignal.timeout(MEANING_MS))
  /** Outside of any transaction. */
  const prepare = async (): Promise<void> => void (await detector())
  return [
    {
      name: 'search_words_of_sessions',
      table: 'agent_session',
      key: 'id',
      rowsPerStep: 5,
      prepare,
      async change(tx, keys) {
        const ranges = keys.map((sessionId) => ({
          sessionId,
          after: -1,
          through: Number.MAX_SAFE_INTEGER,
          late: [],
        }))
        const messages = textsOf(await readMessages(tx, ranges, MESSAGES))
        const samples = [...samplesOf(messages)]
        const languages = await detected(samples.map(([, text]) => text))
        await writeMessages(
          tx,
          messages,
          new Map(samples.map(([id], index) => [id, languages[index] ?? null])),
          await meanings(messages.map(({ text }) => text)),
        )
      },
    },
    {
      name: 'search_words_of_feedback',
      table: 'feedback_record',
      key: 'id',
      rowsPerStep: 50,
      prepare,
      async change(tx, keys) {
        const records = await lockRecords(tx, keys.map(Number))
        const languages = await detected(recordSamples(records))
        const byId = new Map(records.map(({ id }, index) => [id, languages[index] ?? null]))
        await writeRecords(tx, [...byId.keys()], byId, await meanings(recordTexts(records)))
      },
    },
    {
      name: 'search_words_of_recordings',
      table: 'recording',
      key: 'id',
      rowsPerStep: 2,
      prepare,
      async change(tx, keys) {
        for (const id of keys) {
          const speech = await readSpeech(tx, id)
          const [language = null] = await detected([
            languageSample(speech.slice(0, 100).map(({ text }) => text)),
          ])
          await writeSpeech(tx, id, language, await meanings(speechPassages(speech).map(({ text }) => text)))
        }
      },
    },
  ]
}
