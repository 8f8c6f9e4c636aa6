/** Any order, batches and repetitions of a conversation lead to the same state with exact counts. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Event } from '../../src/hear/agents/model.ts'
import { MemorySession } from '../support/memory-session.ts'

/** One event of the conversation with all its revisions, in order. */
type Life = readonly Event[]

/** Every third event is feedback on the one before it, which is an answer. */
const conversation = fc
  .array(
    fc.record({ revisions: fc.integer({ min: 1, max: 3 }), partial: fc.boolean(), step: fc.nat({ max: 3 }) }),
    {
      minLength: 1,
      maxLength: 12,
    },
  )
  .map((seeds): Life[] => {
    const types = ['user_message', 'assistant_message', 'feedback'] as const
    return seeds.map(({ revisions, partial, step }, sequence) =>
      Array.from({ length: revisions }, (_, index): Event => {
        const type = types[sequence % 3] as string
        const members =
          type === 'feedback'
            ? {
                feedback: {
                  targetEventExternalId: `e${sequence - 1}`,
                  comment: `comment 4711 ${index * step}`,
                },
              }
            : { content: `text 4711 ${index * step}` }
        return {
          externalEventId: `e${sequence}`,
          sequence,
          revision: 1 + index * (step + 1),
          occurredAt: '2026-01-01T00:00:00Z',
          type,
          final: index > 0 || !partial,
          ...members,
        }
      }),
    )
  })

interface Script {
  readonly batches: readonly (readonly Event[])[]
  readonly repeats: number
}

/** Cuts the conversation into requests by a stream of choices, in any order that callers may send it. */
function schedule(lives: readonly Life[], choose: (options: number) => number): Script {
  const position = lives.map(() => 0)
  const batches: Event[][] = [[]]
  const sent: Event[] = []
  let repeats = 0
  for (;;) {
    const open = lives.flatMap((life, index) =>
      (position[index] as number) < life.length && isDue(index) ? [index] : [],
    )
    if (open.length === 0) return { batches: batches.filter((events) => events.length > 0), repeats }
    const index = open[choose(open.length)] as number
    const event = lives[index]?.[position[index] as number] as Event
    if (choose(3) === 0) batches.push([])
    // Revisions of one event may share a request, in any order.
    const request = batches.at(-1) as Event[]
    request.splice(choose(request.length + 1), 0, event)
    position[index] = (position[index] as number) + 1
    sent.push(event)
    repeat()
  }

  /** Feedback goes out with or after the answer that it is about. */
  function isDue(index: number): boolean {
    return index % 3 !== 2 || (position[index - 1] as number) > 0
  }

  function repeat(): void {
    const event = sent[choose(sent.length)] as Event
    const batch = batches.at(-1) as Event[]
    if (choose(2) === 0) return
    batch.splice(choose(batch.length + 1), 0, event)
    repeats++
  }
}

test('any order, batches and repetitions end in the same stored state, and every event is counted once', () => {
  const choices = fc.infiniteStream(fc.nat({ max: 1_000_000 }))
  fc.assert(
    fc.property(conversation, choices, fc.nat({ max: 8 }), (lives, stream, settingsChangeAt) => {
      const { batches, repeats } = schedule(lives, (options) => (stream.next().value as number) % options)
      const session = new MemorySession()
      const total = [0, 0, 0]
      for (const [index, batch] of batches.entries()) {
        // Retries are recognised across a change of the redaction rules.
        if (index === settingsChangeAt) session.changeSettings({ redactedPatterns: ['4711'] })
        for (const [place, count] of session.send(batch).entries())
          total[place] = (total[place] as number) + count
      }
      const revisions = lives.reduce((sum, life) => sum + life.length - 1, 0)
      expect(total).toEqual([lives.length, repeats, revisions])
      expect(session.snapshot()).toMatchObject(
        lives.map((life) => {
          const { externalEventId, sequence, revision, type, final } = life.at(-1) as Event
          return { id: externalEventId, sequence, revision, type, final }
        }),
      )
      if (settingsChangeAt >= batches.length) {
        const inOrder = new MemorySession()
        for (const life of lives) for (const event of life) inOrder.send([event])
        expect(session.snapshot()).toEqual(inOrder.snapshot())
      }
      // The whole conversation once more changes nothing.
      const before = session.snapshot()
      for (const batch of batches) expect(session.send(batch)).toEqual([0, batch.length, 0])
      expect(session.snapshot()).toEqual(before)
    }),
    { numRuns: 300 },
  )
})
