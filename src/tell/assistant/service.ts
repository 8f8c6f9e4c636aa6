/**
 * The website's assistant. It answers a question from the pages of the website only.
 *
 * It names the sources of an answer, and says so if the pages do not contain one. Without a chat server the answer is a
 * passage of a page. With a chat server, the server writes the answer from the excerpts found. If the server fails, the
 * answer is a passage.
 */

import type { AnalyzerDeps } from '../../analysis/analyze/create.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Page } from '../content/page.rules.ts'
import { askExcerpts } from './chat-answer.ts'
import { type Answer, MAX_ANSWER, MAX_EXCERPT, MAX_SOURCES, UNKNOWN } from './model.ts'
import { passageOf } from './passage.rules.ts'
import { createSearch, type Hit, type Search } from './search.ts'
import { termsOf } from './terms.rules.ts'

export interface Assistant {
  /** @param signal aborted when the client is gone, which also ends the request to the chat server */
  ask(question: string, signal: AbortSignal): Promise<Answer>
}

/** The share of a question that a section must cover to answer it. */
const MIN_SHARE = 0.5
/** Lower for a model, which decides by itself what fits. */
const MIN_SHARE_FOR_MODEL = 0.2
const MAX_EXCERPTS = 6

export function createAssistant(
  { modelServer, log }: Pick<Deps & AnalyzerDeps, 'modelServer' | 'log'>,
  content: { readonly pages: () => readonly Page[] },
): Assistant {
  let made: Search | null = null
  const search: Search = (question) => {
    made ??= createSearch(content.pages())
    return made(question)
  }
  return {
    async ask(question, signal) {
      const hits = search(question)
      const extracted = () => extract(hits.filter(({ share }) => share >= MIN_SHARE))
      if (modelServer === null) return extracted()
      const excerpts = hits.filter(({ share }) => share >= MIN_SHARE_FOR_MODEL).slice(0, MAX_EXCERPTS)
      if (excerpts.length === 0) return unknown()
      try {
        const written = await askExcerpts(modelServer, question, excerpts, signal)
        return written === null ? unknown() : { answer: written.text, sources: sourcesOf(written.hits) }
      } catch (error) {
        log.warn({ err: error }, 'the chat server failed: answering with a passage')
        return extracted()
      }
    },
  }
}

const unknown = (): Answer => ({ answer: UNKNOWN, sources: [] })

function extract(hits: readonly Hit[]): Answer {
  const [best] = hits
  return best === undefined ? unknown() : { answer: excerptOf(best, MAX_ANSWER), sources: sourcesOf(hits) }
}

/** At most one source a page. */
function sourcesOf(hits: readonly Hit[]): Answer['sources'] {
  const best = new Map<string, Hit>()
  for (const hit of hits) if (!best.has(hit.section.slug)) best.set(hit.section.slug, hit)
  return [...best.values()].slice(0, MAX_SOURCES).map((hit) => ({
    slug: hit.section.slug,
    title: hit.section.title,
    excerpt: excerptOf(hit, MAX_EXCERPT),
  }))
}

function excerptOf({ section, terms }: Hit, most: number): string {
  return passageOf(section.text, most, (sentence) => termsOf(sentence).filter((term) => terms.has(term)))
}
