/** The built-in summariser: quotes the most representative sentences. Needs no network and no key. */
import { MAX_SUMMARY, type Summarizer } from './summarizer.ts'
import { abridge } from './text.ts'
import type { TextWork } from './text-work.ts'

const MAX_SENTENCES = 4

export function createLocalSummarizer(textWork: TextWork): Summarizer {
  return {
    name: 'local',
    async summarize(passages, signal, organization) {
      const texts = passages.map(({ text }) => text)
      const limits = { most: MAX_SENTENCES, characters: MAX_SUMMARY }
      const picked = await textWork.run('excerpts', { texts, ...limits }, signal, organization)
      // Without a sentence that fits, the beginning is better than nothing.
      const summary = abridge(picked.length > 0 ? picked.join(' ') : (texts[0] ?? ''), MAX_SUMMARY)
      return summary === '' ? null : summary
    },
  }
}
