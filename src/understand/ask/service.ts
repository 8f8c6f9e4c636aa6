/**
 * Questions over everything that the caller may see. The search finds passages; they are counted by theme, area and outcome. A model
 * server, if there is one, answers from the passages, and what it says counts only with quotations.
 *
 * Reads and the request to the server follow each other, so no question holds a database connection while the server thinks. Organizations
 * share the places of requests in turns, so the questions of one do not hold up those of another.
 */

import { AnalyzerError } from '../../analysis/analyze/analyzer-error.ts'
import type { AnalyzerDeps } from '../../analysis/analyze/create.ts'
import { readSubjects } from '../../analysis/findings/service.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Viewer } from '../../kernel/principal.ts'
import { createFairQueue } from '../../platform/concurrency/fair-queue.ts'
import { toText } from '../search/highlight.rules.ts'
import type { PassagesRequest, Search } from '../search/service.ts'
import { themesOf } from '../themes/subjects.ts'
import type { AnsweredSentence } from './answer.rules.ts'
import { answerFrom } from './answer.ts'
import { type Groups, groupsOf } from './groups.rules.ts'
import { type AnswerStatus, MAX_COUNTED, MAX_PASSAGES } from './model.ts'

export type Ask = ReturnType<typeof createAsk>

export interface AskDeps extends Pick<Deps & AnalyzerDeps, 'reads' | 'modelServer' | 'tokenBudget' | 'log'> {
  readonly search: Pick<Search, 'passages' | 'assertWords'>
}

export interface AskRequest extends Omit<PassagesRequest, 'q' | 'limit'> {
  readonly question: string
}

type Found = Awaited<ReturnType<Search['passages']>>

export interface AnsweredPassage
  extends Pick<
    Found['passages'][number],
    'channel' | 'id' | 'feedbackSourceId' | 'messageId' | 'field' | 'startSec' | 'occurredAt' | 'personId'
  > {
  /** From 1. */
  readonly number: number
  readonly recordId: number | null
  readonly quote: string
}

export interface Answered {
  readonly answer: readonly AnsweredSentence[] | null
  readonly answerStatus: AnswerStatus
  readonly model: string | null
  readonly passages: readonly AnsweredPassage[]
  readonly counts: Groups
  readonly match: Found['match']
  readonly complete: boolean
}

/** Requests to the model server that one process has open, of one organization, and how long one waits for a place. */
const PLACES = 4
const MAX_OF_ORGANIZATION = 8
const MAX_WAIT_MS = 15_000
/** Code units of a passage that is quoted as a whole. Of a longer one, the parts around the words of the question. */
const MAX_WHOLE = 600

class Busy extends Error {
  override readonly name = 'Busy'
}

export function createAsk(deps: AskDeps) {
  const queue = createFairQueue({
    places: PLACES,
    share: 'asMuchAsItLeaves',
    maxOfCaller: MAX_OF_ORGANIZATION,
    maxWaitMs: MAX_WAIT_MS,
    refusal: () => new Busy('too many questions of the organization wait'),
  })

  const assertWords = (question: string) => deps.search.assertWords(wordsOf(question), 'question')

  return {
    /** @throws AppError 400 if the question has no word */
    assertWords,

    /**
     * @param signal aborted when the caller leaves, which also ends the request to the server
     * @throws AppError 400 if the question has no word; 503 `search_busy`, `search_timed_out`
     */
    async ask(viewer: Viewer, { question, ...filter }: AskRequest, signal: AbortSignal): Promise<Answered> {
      assertWords(question)
      const { organizationId } = viewer
      const found = await deps.search.passages(viewer, {
        ...filter,
        q: wordsOf(question),
        limit: MAX_COUNTED,
      })
      signal.throwIfAborted()
      const subjects = found.passages.map(({ channel, id }) => ({ channel, id }))
      const [rows, themes] = await Promise.all([
        readSubjects(deps.reads, organizationId, subjects),
        themesOf(deps.reads, organizationId, subjects),
      ])
      const passages = found.passages.slice(0, MAX_PASSAGES).map(passageOf)
      const counts = groupsOf(subjects, passages.length, rows, themes)
      const written = await write(organizationId, question, passages, signal)
      return { ...written, passages, counts, match: found.match, complete: found.complete }
    },
  }

  async function write(
    organizationId: string,
    question: string,
    passages: readonly AnsweredPassage[],
    signal: AbortSignal,
  ): Promise<Pick<Answered, 'answer' | 'answerStatus' | 'model'>> {
    const { modelServer } = deps
    const none = (answerStatus: AnswerStatus) => ({ answer: null, answerStatus, model: null })
    if (passages.length === 0) return none('nothing_found')
    if (modelServer === null) return none('no_model_server')
    try {
      const { status, sentences } = await queue.run(organizationId, async () => {
        signal.throwIfAborted()
        return answerFrom(modelServer, deps.tokenBudget, organizationId, question, passages, signal)
      })
      if (status !== 'answered') return none(status)
      return { answer: sentences, answerStatus: 'answered', model: modelServer.model }
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof Busy) return none('busy')
      if (!(error instanceof AnalyzerError)) throw error
      deps.log.warn(
        { err: error },
        'the model server did not answer a question: the answer has passages only',
      )
      return none('failed')
    }
  }
}

/** The question as plain words: in a question, quotation marks and dashes ask for nothing. */
const wordsOf = (question: string): string => question.replaceAll('"', ' ').replaceAll(/(?<=^|\s)-+/g, '')

function passageOf(found: Found['passages'][number], index: number): AnsweredPassage {
  const { channel, id, feedbackSourceId, messageId, field, startSec, occurredAt, personId } = found
  return {
    number: index + 1,
    ...{ channel, id, feedbackSourceId, messageId, field, startSec, occurredAt, personId },
    recordId: channel === 'feedback' ? Number(id) : null,
    quote: (found.text.length <= MAX_WHOLE
      ? found.text
      : toText(found.headline).slice(0, MAX_WHOLE)
    ).toWellFormed(),
  }
}
