/** Where the stream of a client begins, and the text of its events. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Change, changeText, eventId, startOf } from '../../src/tell/event-stream/event.rules.ts'

const GENERATION = '0badcafe'
const state = { generation: GENERATION, lastSeq: 40, lostSeq: 10 }

describe('a stream begins', () => {
  test.each([
    ['without an id', null, 'ready', 40],
    ['with an empty id', '', 'ready', 40],
    ['behind the newest event', eventId(GENERATION, 40), 'resume', 40],
    ['behind the newest lost event', eventId(GENERATION, 10), 'resume', 10],
    ['behind a lost event', eventId(GENERATION, 9), 'reset', 40],
    ['behind an event that does not exist yet', eventId(GENERATION, 41), 'reset', 40],
    ['in another generation', eventId('deadbeef', 20), 'reset', 40],
    ['with text', 'x', 'reset', 40],
  ] as const)('%s', (_, lastEventId, start, position) => {
    expect(startOf(state, lastEventId)).toEqual({ start, position })
  })

  test('property: with reset for any text that is no id', () => {
    fc.assert(fc.property(fc.string({ minLength: 1 }), (text) => startOf(state, text).start === 'reset'))
  })
})

test('an event has its type, its id and one line of data without absent ids', () => {
  const change: Change = {
    seq: 7,
    type: 'feedback_record.created',
    applicationId: null,
    sessionId: null,
    signalId: null,
    feedbackSourceId: 2,
    feedbackRecordId: 3,
    recordingId: null,
    occurredAt: new Date('2026-01-02T03:04:05.678Z'),
  }
  expect(changeText(GENERATION, change)).toBe(
    'event: feedback_record.created\nid: 7.0badcafe\n' +
      'data: {"id":"7.0badcafe","type":"feedback_record.created","occurredAt":"2026-01-02T03:04:05.678Z","feedbackSourceId":2,"feedbackRecordId":3}\n\n',
  )
})
