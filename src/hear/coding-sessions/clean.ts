/**
 * Cuts and redacts the content of events. Every text of a file passes here before it is stored.
 *
 * A text is redacted before it is cut, with a margin, so that a secret that crosses the limit is found.
 */

import { parseExact } from '../../platform/validation/exact-number.rules.ts'
import type { Redactor } from '../agents/events/redaction.ts'
import type { Part } from './event.rules.ts'

/** UTF-16 code units. */
export const MAX_TEXT = 256 * 1024
export const MAX_RESULT = 16 * 1024
const MAX_INPUT = 64 * 1024
/** Names, ids, titles. */
const MAX_NAME = 512
const MARGIN = 4 * 1024

export interface Cleaner {
  text(value: string, max: number): string
  /** JSON of a tool call. Beyond `MAX_INPUT` it becomes the beginning of its text. */
  json(value: unknown): unknown
  /** A part of a message. null: it is blank. */
  part(type: 'text' | 'reasoning', value: unknown): Part | null
  /** An id or a name; undefined if it is no text. */
  name(value: unknown): string | undefined
}

/** `redactor` counts its work. */
export function createCleaner(redactor: Redactor): Cleaner {
  const text = (value: string, max: number) => {
    if (value === '') return value
    const near = value.length > max + MARGIN ? value.slice(0, max + MARGIN) : value
    const redacted = redactor.text(storable(near))
    return redacted.length > max || near.length < value.length
      ? `${redacted.slice(0, max - 1).toWellFormed()}…`
      : redacted
  }
  return {
    text,
    json(value) {
      const written = JSON.stringify(value) ?? 'null'
      if (written.length > MAX_INPUT) return text(written, MAX_INPUT)
      return redactor.value(parseExact(storableJson(written)))
    },
    part(type, value) {
      if (typeof value !== 'string' || value.trim() === '') return null
      return { type, text: text(value, MAX_TEXT) }
    },
    name: (value) =>
      typeof value === 'string' && value.trim() !== '' ? text(value.trim(), MAX_NAME) : undefined,
  }
}

/** PostgreSQL stores neither U+0000 nor unpaired surrogates. */
function storable(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed()
  return whole.includes('\u0000') ? whole.replaceAll('\u0000', '\ufffd') : whole
}

/** `JSON.stringify` writes U+0000 and unpaired surrogates as escapes. A pair is never written as escapes. */
function storableJson(written: string): string {
  return written.replaceAll(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][\da-f]{2})/gi, '$1\ufffd')
}
