/** The built-in summariser: the few sentences of the transcript itself that say most. Needs no network and no key. */
import { pickSentences } from './sentences.ts'
import { loadSplit, type Split, splitAll } from './split.ts'
import { MAX_SUMMARY, type Summarizer } from './summarizer.ts'
import { abridge } from './text.ts'

const MAX_SENTENCES = 4

export function createLocalSummarizer(load: () => Promise<Split> = loadSplit): Summarizer {
  let loading: Promise<Split> | null = null
  return {
    name: 'local',
    async summarize(passages, signal) {
      loading ??= load()
      const texts = passages.map(({ text }) => text)
      const sentences = await splitAll(await loading, texts, signal)
      const picked = pickSentences(sentences, { most: MAX_SENTENCES, characters: MAX_SUMMARY })
      // Without any sentence that fits, the beginning is better than nothing.
      const summary = abridge(picked.length > 0 ? picked.join(' ') : (texts[0] ?? ''), MAX_SUMMARY)
      return summary === '' ? null : summary
    },
  }
}
