/**
 * Text jobs: all work on customers' text that takes more than a moment. They run in a child process (`text-process.ts`) that
 * can be killed, so a text that hangs a tool disturbs neither a worker thread nor other work.
 */
import { createInsightDoers, type InsightJobs } from './builtin/jobs.ts'
import { type DetectLanguage, loadLanguage } from './builtin/language.ts'
import { pickSentences } from './sentences.ts'
import { splitAll } from './split.ts'

/** Input of `pickSentences`. */
export interface Excerpts {
  readonly texts: readonly string[]
  readonly most: number
  readonly characters: number
}

/** Name, input and output of every job. All of it can be written as JSON. */
export interface TextJobs extends InsightJobs {
  /** The most representative sentences of texts. */
  readonly excerpts: { readonly input: Excerpts; readonly output: readonly string[] }
  /** The language of each text as an ISO 639-1 code; null if it cannot be told. */
  readonly languages: { readonly input: readonly string[]; readonly output: readonly (string | null)[] }
}
export type TextJob = keyof TextJobs

/** Does text jobs. */
export interface TextWork {
  /**
   * @param signal rejects when aborted
   * @param organization organization of the text; organizations take turns. Absent: the service itself
   * @throws TextWorkError if the job took too long or ended its process
   */
  run<J extends TextJob>(
    job: J,
    input: TextJobs[J]['input'],
    signal: AbortSignal,
    organization?: string,
  ): Promise<TextJobs[J]['output']>
}

/** A job was killed or failed. The message contains no content. */
export class TextWorkError extends Error {
  override readonly name = 'TextWorkError'
}

type Doers = { readonly [J in TextJob]: (input: TextJobs[J]['input']) => Promise<TextJobs[J]['output']> }

/** Runs the jobs in the calling process. Loads the detector of languages with the first job that needs it. */
export function createTextDoers(): Doers {
  let detecting: Promise<DetectLanguage> | null = null
  return {
    ...createInsightDoers(),
    async languages(texts) {
      detecting ??= loadLanguage()
      const detect = await detecting
      return texts.map(detect)
    },
    excerpts: async ({ texts, ...limits }) => pickSentences(splitAll(texts), limits),
  }
}

/** Text work in the calling process, for commands that measure and for tests. */
export function createTextWorkHere(): TextWork {
  const doers = createTextDoers()
  return {
    async run<J extends TextJob>(job: J, input: TextJobs[J]['input'], signal: AbortSignal) {
      signal.throwIfAborted()
      return (doers[job] as (input: TextJobs[J]['input']) => Promise<TextJobs[J]['output']>)(input)
    },
  }
}
