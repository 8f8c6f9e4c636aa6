/**
 * Validates a supplied transcript (specification, "Create", rule 6, and "Limits"). Pure.
 *
 * Every finding names its path, and each exceeded limit has its own code.
 */

import { AppError, type DetailCode, type ErrorCode, type ErrorDetail } from '../../platform/errors.ts'
import { invalid } from '../../platform/validation/json.ts'
import {
  MAX_TRANSCRIPT_CHARACTERS,
  MAX_UTTERANCE_CHARACTERS,
  MAX_UTTERANCES,
  type Utterance,
} from './model.ts'

/** Validation stops after this many findings. */
const MAX_FINDINGS = 20

/**
 * Validates a transcript from a request body: the utterances or `{utterances: […]}`.
 * @param path path in the body, for findings such as `transcript[3].endSec`
 * @returns its utterances, without unknown members
 * @throws AppError 400 `transcript_utterance_limit_exceeded`, `transcript_utterance_text_limit_exceeded` or
 * `transcript_text_limit_exceeded` with `limit`, `actual` and if applicable `index`; otherwise `validation_failed`
 */
export function checkTranscript(value: unknown, path = 'transcript'): readonly Utterance[] {
  const [list, place] = isObject(value) ? [value.utterances, `${path}.utterances`] : [value, path]
  if (!Array.isArray(list)) {
    const message = 'must be an array of utterances, or an object with the member "utterances"'
    throw invalid([{ path, code: 'type', message }])
  }
  if (list.length > MAX_UTTERANCES) {
    throw limit('transcript_utterance_limit_exceeded', 'utterances', MAX_UTTERANCES, list.length)
  }
  const details: ErrorDetail[] = []
  const utterances: Utterance[] = []
  for (let index = 0; index < list.length && details.length < MAX_FINDINGS; index++) {
    const utterance = checkUtterance(list[index], `${place}[${index}]`, details)
    if (utterance !== null) utterances.push(utterance)
  }
  // The following checks need valid utterances.
  if (details.length > 0) throw invalid(details)
  assertTextLimits(utterances)
  checkTimes(utterances, place, details)
  if (details.length > 0) throw invalid(details)
  return utterances
}

/**
 * Each participant must speak in the transcript (specification, "Create", rule 6). Not every speaker needs a
 * participant.
 * @throws AppError 400 naming `participants[1].speaker`
 */
export function checkSpeakers(
  utterances: readonly Utterance[],
  participants: readonly { readonly speaker: number }[],
): void {
  const speaking = new Set(utterances.map(({ speaker }) => speaker))
  const details = participants.flatMap(({ speaker }, index): ErrorDetail[] =>
    speaking.has(speaker)
      ? []
      : [
          {
            path: `participants[${index}].speaker`,
            code: 'speaker_without_utterance',
            message: 'must be the speaker of at least one utterance of the transcript',
          },
        ],
  )
  if (details.length > 0) throw invalid(details)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Checks the members one by one. @returns null, with at least one more finding, if it is not an utterance */
function checkUtterance(value: unknown, path: string, details: ErrorDetail[]): Utterance | null {
  if (!isObject(value)) {
    details.push({ path, code: 'type', message: 'must be an object' })
    return null
  }
  const { startSec, endSec, text, speaker } = value
  const before = details.length
  const refuse = (member: string, code: DetailCode, message: string) =>
    void details.push({ path: `${path}.${member}`, code, message })
  if (!isSecond(startSec)) refuse('startSec', ...secondFinding(startSec))
  if (!isSecond(endSec)) refuse('endSec', ...secondFinding(endSec))
  else if (isSecond(startSec) && endSec < startSec) refuse('endSec', 'range', 'must be >= startSec')
  if (typeof text !== 'string') refuse('text', ...typeFinding(text, 'a string'))
  else if (!/\S/.test(text)) refuse('text', 'blank', 'must not be blank')
  if (typeof speaker !== 'number') refuse('speaker', ...typeFinding(speaker, 'an integer'))
  else if (!Number.isSafeInteger(speaker) || speaker < 0)
    refuse('speaker', 'range', 'must be an integer from 0 to 9007199254740991')
  if (details.length > before) return null
  return { startSec, endSec, text, speaker } as Utterance
}

function isSecond(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function secondFinding(value: unknown): [code: DetailCode, message: string] {
  if (typeof value !== 'number') return typeFinding(value, 'a number')
  return ['range', 'must be a finite number of seconds, at least 0']
}

function typeFinding(value: unknown, wanted: string): [code: DetailCode, message: string] {
  return value === undefined ? ['required', 'is required'] : ['type', `must be ${wanted}`]
}

/** Utterances must be ordered, and those of one speaker must not overlap. Touching is allowed. */
function checkTimes(utterances: readonly Utterance[], path: string, details: ErrorDetail[]): void {
  /** For each speaker, the utterance with the latest end. In a valid transcript only that one can overlap the next. */
  const latest = new Map<number, { readonly index: number; readonly utterance: Utterance }>()
  let previousStart = 0
  for (const [index, utterance] of utterances.entries()) {
    if (details.length >= MAX_FINDINGS) return
    const { startSec, endSec, speaker } = utterance
    const at = `${path}[${index}].startSec`
    if (startSec < previousStart)
      details.push({
        path: at,
        code: 'order',
        message: 'must not be before the startSec of the previous utterance',
      })
    previousStart = startSec
    const earlier = latest.get(speaker)
    if (earlier !== undefined && overlap(earlier.utterance, utterance)) {
      const message = `overlaps ${path}[${earlier.index}], which has the same speaker`
      details.push({ path: at, code: 'overlap', message })
    }
    if (earlier === undefined || endSec > earlier.utterance.endSec) latest.set(speaker, { index, utterance })
  }
}

function overlap(a: Utterance, b: Utterance): boolean {
  return a.startSec < b.endSec && b.startSec < a.endSec
}

function assertTextLimits(utterances: readonly Utterance[]): void {
  let units = 0
  for (const [index, { text }] of utterances.entries()) {
    units += text.length
    // A text never has more code points than UTF-16 units, so short texts need no counting.
    if (text.length <= MAX_UTTERANCE_CHARACTERS) continue
    const length = codePoints(text)
    if (length <= MAX_UTTERANCE_CHARACTERS) continue
    throw limit(
      'transcript_utterance_text_limit_exceeded',
      'characters in one utterance',
      MAX_UTTERANCE_CHARACTERS,
      length,
      index,
    )
  }
  if (units <= MAX_TRANSCRIPT_CHARACTERS) return
  const total = utterances.reduce((sum, { text }) => sum + codePoints(text), 0)
  if (total > MAX_TRANSCRIPT_CHARACTERS)
    throw limit('transcript_text_limit_exceeded', 'characters', MAX_TRANSCRIPT_CHARACTERS, total)
}

function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

function limit(code: ErrorCode, what: string, most: number, actual: number, index?: number): AppError {
  const place = index === undefined ? 'The transcript' : `Utterance ${index} of the transcript`
  return new AppError(code, `${place} has ${actual} ${what}; at most ${most} are allowed.`, {
    extra: { limit: most, actual, ...(index === undefined ? {} : { index }) },
  })
}
