/** Indexes again what was indexed by former rules (`platform/text/words.rules.ts`), or not at all: background changes with progress in `earshot doctor`. */
import { type DetectLanguage, loadLanguage } from '../analyze/builtin/language.ts'
import type { DataChange } from '../platform/db/data-change.ts'
import { recordSamples, samplesOf, textsOf, writeMessages, writeRecords, writeSpeech } from './indexing.ts'
import { languageSample } from './passage.rules.ts'
import { lockRecords, readMessages, readSpeech } from './passages.store.ts'

/** Messages of one session. Of longer sessions, these are the first. */
const MESSAGES = 2_000

/** They load the language detector once, when the first of them has work. */
export function createSearchChanges(): readonly DataChange[] {
  let loading: Promise<DetectLanguage> | null = null
  const detector = () => {
    loading ??= loadLanguage()
    return loading
  }
  const detected = async (texts: readonly string[]) => texts.map(await detector())
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
        await writeRecords(tx, [...byId.keys()], byId)
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
          const sample = languageSample((await readSpeech(tx, id)).slice(0, 100).map(({ text }) => text))
          const [language = null] = await detected([sample])
          await writeSpeech(tx, id, language)
        }
      },
    },
  ]
}
