import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  advance,
  type ProgressEvent,
  type ProgressInput,
  signalOf,
} from '../../src/hear/agents/sessions/progress.rules.ts'

interface Numbered {
  readonly sequence: number
}

const events = (...sequences: number[]): Numbered[] => sequences.map((sequence) => ({ sequence }))

const INPUT: ProgressInput<Numbered> = {
  watermark: -1,
  terminal: false,
  gapsPermanentThrough: null,
  next: [],
  hasMore: false,
}

describe('session progress', () => {
  test.each<[string, Partial<ProgressInput<Numbered>>, number[], number, boolean]>([
    ['nothing stored: nothing to do', {}, [], -1, false],
    ['numbering starts at 0', { next: events(0, 1, 2) }, [0, 1, 2], 2, false],
    ['numbering starts at 1', { next: events(1, 2) }, [1, 2], 2, false],
    ['a lowest sequence of 2 waits for 1', { next: events(2, 3) }, [], -1, true],
    ['goes on above the watermark', { watermark: 2, next: events(3, 4) }, [3, 4], 4, false],
    ['an open session waits at a gap', { next: events(0, 1, 3, 4) }, [0, 1], 1, true],
    ['an open session waits right above the watermark', { watermark: 1, next: events(3) }, [], 1, true],
    ['1 is waited for after 0', { watermark: 0, next: events(2) }, [], 0, true],
    [
      'a terminal session takes gaps as permanent',
      { terminal: true, next: events(2, 5, 9) },
      [2, 5, 9],
      9,
      false,
    ],
    [
      'gaps below the declared point are permanent',
      { gapsPermanentThrough: 5, next: events(2, 5, 7) },
      [2, 5],
      5,
      true,
    ],
    [
      'the declared point itself is reached',
      { gapsPermanentThrough: 5, watermark: 1, next: events(5) },
      [5],
      5,
      false,
    ],
    [
      'a gap that ends above the declared point is open',
      { gapsPermanentThrough: 5, next: events(6) },
      [],
      -1,
      true,
    ],
    [
      'no gap above the declared point: goes on',
      { gapsPermanentThrough: 2, next: events(2, 3) },
      [2, 3],
      3,
      false,
    ],
  ])('%s', (_, input, processed, newWatermark, waitingAtGap) => {
    const step = advance({ ...INPUT, ...input })
    expect(step.process.map((event) => event.sequence)).toEqual(processed)
    expect(step).toMatchObject({ newWatermark, waitingAtGap, again: false })
  })

  test('goes on at once after a full page, but not past a gap', () => {
    expect(advance({ ...INPUT, next: events(0, 1), hasMore: true }).again).toBe(true)
    expect(advance({ ...INPUT, next: events(0, 2), hasMore: true }).again).toBe(false)
  })

  test('processes each sequence exactly once and in order, for any order of arrival', () => {
    const numbers = fc
      .tuple(fc.constantFrom(0, 1), fc.integer({ min: 1, max: 30 }))
      .map(([first, count]) => Array.from({ length: count }, (_, index) => first + index))
    const arrivals = numbers.chain((all) =>
      fc.tuple(
        fc.constant(all),
        fc.shuffledSubarray(all, { minLength: all.length }),
        fc.infiniteStream(fc.integer({ min: 1, max: 5 })),
        fc.integer({ min: 1, max: 4 }),
      ),
    )
    fc.assert(
      fc.property(arrivals, ([all, order, batchSizes, pageSize]) => {
        // In a session numbered from 0 the event 0 arrives first. Without it, the session would start at 1.
        const arriving = all[0] === 0 ? [0, ...order.filter((sequence) => sequence !== 0)] : order
        const session = new SessionInMemory(pageSize)
        while (arriving.length > 0) session.arrive(arriving.splice(0, batchSizes.next().value as number))
        expect(session.processed).toEqual(all)
      }),
    )
  })

  test('a terminal session processes every event that arrived', () => {
    const gappy = fc.uniqueArray(fc.nat({ max: 40 }), { minLength: 1 })
    fc.assert(
      fc.property(
        gappy,
        fc.nat({ max: 10 }),
        fc.integer({ min: 1, max: 4 }),
        (sequences, before, pageSize) => {
          const session = new SessionInMemory(pageSize)
          const early = [...sequences.slice(0, before)].sort((a, b) => a - b)
          // Early events arrive in order, so that none of them is late.
          for (const sequence of early) session.arrive([sequence])
          const floor = session.watermark
          const rest = sequences.slice(before).filter((sequence) => sequence > floor)
          session.end(rest)
          expect(session.processed).toEqual([...early, ...rest].sort((a, b) => a - b))
        },
      ),
    )
  })
})

/** The actor of one session over a list in memory. */
class SessionInMemory {
  readonly processed: number[] = []
  watermark = -1
  #terminal = false
  readonly #stored: number[] = []

  constructor(readonly pageSize: number) {}

  arrive(sequences: readonly number[]): void {
    this.#stored.push(...sequences)
    this.#stored.sort((a, b) => a - b)
    while (this.#turn()) {
      // processes page by page
    }
  }

  end(sequences: readonly number[]): void {
    this.#terminal = true
    this.arrive(sequences)
  }

  #turn(): boolean {
    const above = this.#stored.filter((sequence) => sequence > this.watermark)
    const step = advance({
      watermark: this.watermark,
      terminal: this.#terminal,
      gapsPermanentThrough: null,
      next: events(...above.slice(0, this.pageSize)),
      hasMore: above.length > this.pageSize,
    })
    this.processed.push(...step.process.map((event) => event.sequence))
    this.watermark = step.newWatermark
    return step.again
  }
}

describe('the explicit-feedback signal', () => {
  const feedback: ProgressEvent = {
    externalEventId: 'f',
    sequence: 2,
    revision: 3,
    type: 'feedback',
    final: true,
    body: {
      participantExternalId: 'u',
      feedback: { targetEventExternalId: 'a', rating: 'negative', labels: ['slow'], comment: 'Hm' },
    },
  }

  test('has the members of the feedback event', () => {
    expect(signalOf(feedback)).toEqual({
      source: 'explicit_feedback',
      kind: 'message_feedback',
      externalEventId: 'f',
      targetEventExternalId: 'a',
      sequence: 2,
      revision: 3,
      rating: 'negative',
      labels: ['slow'],
      comment: 'Hm',
      participantExternalId: 'u',
    })
  })

  test('has null members where the event gives none or capture dropped them', () => {
    expect(signalOf({ ...feedback, body: { feedback: { targetEventExternalId: 'a' } } })).toMatchObject({
      targetEventExternalId: 'a',
      rating: null,
      labels: [],
      comment: null,
      participantExternalId: null,
    })
  })

  test('is made of final feedback events only', () => {
    expect(signalOf({ ...feedback, final: false })).toBeNull()
    expect(signalOf({ ...feedback, type: 'user_message' })).toBeNull()
  })
})
