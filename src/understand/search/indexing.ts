/** Turns what was read into passages, and writes them. The actor and the background change of existing data use it. */
import { visibleText } from '../../hear/agents/events/visibility.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { type Meanings, meaningKey } from './meaning.ts'
import {
  configurationOf,
  fieldPassages,
  indexedText,
  languageSample,
  MAX_PASSAGE,
  speechPassages,
} from './passage.rules.ts'
import * as store from './passages.store.ts'

interface Message extends Omit<store.MessageRow, 'content'> {
  readonly text: string
}

export const textsOf = (rows: readonly store.MessageRow[]): readonly Message[] =>
  rows.map(({ content, ...row }) => ({ ...row, text: visibleText(content, MAX_PASSAGE) }))

/** The customer's words of each session. */
export function samplesOf(messages: readonly Message[]): ReadonlyMap<string, string> {
  const bySession = Map.groupBy(messages, ({ sessionId }) => sessionId)
  return new Map(
    [...bySession].map(([id, said]) => [
      id,
      languageSample(said.filter(({ isCustomer }) => isCustomer).map(({ text }) => text)),
    ]),
  )
}

/**
 * Replaces the passages of these messages. Sessions that were deleted meanwhile get none. Neither do sessions from which a person was erased
 * since the messages were read: the erasure has them read again.
 */
export async function writeMessages(
  tx: Tx,
  messages: readonly Message[],
  languages: ReadonlyMap<string, string | null>,
  meanings: Meanings,
): Promise<void> {
  const ids = [...new Set(messages.map(({ sessionId }) => sessionId))]
  const erasedAt = new Map((await store.lockSessions(tx, ids)).map((one) => [one.id, one.erasedAt]))
  const present = [
    ...new Map(messages.map((one) => [`${one.sessionId} ${one.externalEventId}`, one])).values(),
  ].filter((message) => erasedAt.get(message.sessionId) === message.erasedAt)
  const passages = present
    .filter(({ text }) => text.trim() !== '')
    .map(({ sessionId, externalEventId, isCustomer, occurredAt, text }) => ({
      text: indexedText(text),
      configuration: configurationOf(languages.get(sessionId) ?? null),
      ...meanings.get(meaningKey(text)),
      isCustomer,
      occurredAt,
      sessionId,
      externalEventId,
    }))
  await store.replaceMessages(tx, present, passages)
}

/** The customer's words of each record. */
export const recordSamples = (records: readonly store.RecordText[]): readonly string[] =>
  records.map(({ fields }) => languageSample(fieldPassages(fields).map(({ text }) => text)))

/** What the records say. */
export const recordTexts = (records: readonly store.RecordText[]): readonly string[] =>
  records.flatMap(({ fields }) => fieldPassages(fields).map(({ text }) => text))

/** Replaces the passages of these records. Records that were deleted meanwhile get none. */
export async function writeRecords(
  tx: Tx,
  ids: readonly number[],
  languages: ReadonlyMap<number, string | null>,
  meanings: Meanings,
): Promise<void> {
  const records = await store.lockRecords(tx, ids)
  const passages = records.flatMap(({ id, fields, displayTs }) =>
    fieldPassages(fields).map(({ place, text }) => ({
      text: indexedText(text),
      configuration: configurationOf(languages.get(id) ?? null),
      ...meanings.get(meaningKey(text)),
      isCustomer: true,
      occurredAt: displayTs,
      feedbackRecordId: id,
      place,
    })),
  )
  await store.replaceRecords(tx, records, passages)
}

/** Replaces the passages of a recording. */
export async function writeSpeech(
  tx: Tx,
  recordingId: string,
  language: string | null,
  meanings: Meanings,
): Promise<void> {
  const recording = await store.lockRecording(tx, recordingId)
  if (recording === null) return
  const utterances = await store.readSpeech(tx, recordingId)
  const passages = speechPassages(utterances).map(({ text, ...place }) => ({
    ...place,
    text: indexedText(text),
    configuration: configurationOf(language),
    ...meanings.get(meaningKey(text)),
    isCustomer: false,
    occurredAt: recording.occurredAt,
    recordingId,
  }))
  await store.replaceSpeech(tx, recording.organizationId, recordingId, passages)
}
