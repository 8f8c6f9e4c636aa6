/** The rules of themes: items, nearness, linkage, totals, titles and trends. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { differenceOf, type Finding, wantedItems } from '../../src/understand/themes/items.rules.ts'
import { connected, linkage } from '../../src/understand/themes/linkage.rules.ts'
import {
  MAX_TERMS,
  type Member,
  NOTHING,
  termChanges,
  totalsAfter,
} from '../../src/understand/themes/members.rules.ts'
import {
  createIndex,
  nearest,
  nearness,
  type Point,
  pointOfItem,
} from '../../src/understand/themes/nearness.rules.ts'
import {
  checkedTitle,
  NO_TITLE,
  needsTitle,
  redacted,
  titleOf,
} from '../../src/understand/themes/title.rules.ts'
import { riseOf, tail, trendOf } from '../../src/understand/themes/trend.rules.ts'
import {
  addTo,
  DIMENSIONS,
  directionOf,
  emptySum,
  meanDirectionOf,
  meanOf,
  sumBytes,
  sumOf,
  unpacked,
  vectorBytes,
  vectorOf,
} from '../../src/understand/themes/vector.rules.ts'
import { stemsOf, titleTermsOf } from '../../src/understand/themes/words.rules.ts'

const finish = <T>(steps: Generator<void, T>): T => {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

const frequencies = { items: 100, countOf: (term: string) => (term === 'common' ? 60 : 3) }
const surroundings = { ...frequencies, mean: { vector: new Float32Array(DIMENSIONS), rest: 1 } }

const finding = (change: Partial<Finding> = {}): Finding => ({
  signalId: 'a',
  channel: 'feedback',
  subjectId: '1',
  kind: 'bug_report',
  comment: 'The export crashes',
  confidence: 1,
  rating: 'negative',
  language: 'en',
  occurredAt: new Date(0),
  ...change,
})

describe('items', () => {
  test.each([
    ['a finding', [finding()], 1],
    ['the same passage of two kinds', [finding(), finding({ signalId: 'b', kind: 'complaint' })], 1],
    [
      'the same passage with other spaces',
      [finding(), finding({ signalId: 'b', comment: 'The  export\ncrashes ' })],
      1,
    ],
    ['the same passage of two subjects', [finding(), finding({ subjectId: '2' })], 2],
    ['a confirmation', [finding({ kind: 'resolved_confirmation' })], 0],
    ['no quotation', [finding({ comment: null })], 0],
    ['a quotation without words of its own', [finding({ comment: 'It is not!' })], 0],
    ['mere politeness', [finding({ kind: 'praise', comment: 'Thanks, great help' })], 0],
    ['praise of something', [finding({ kind: 'praise', comment: 'The new dashboard is lovely' })], 1],
  ])('%s', (_, findings, count) => {
    expect(wantedItems(findings)).toHaveLength(count)
  })

  const arbitrary = fc.array(
    fc.record({
      signalId: fc.uuid(),
      subjectId: fc.constantFrom('1', '2'),
      comment: fc.constantFrom(
        'export crashes',
        'slow search',
        'dark theme',
        'late parcel',
        'cold pizza',
        'lost card',
        'wrong size',
      ),
      confidence: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    { maxLength: 20 },
  )

  test('property: the order of findings does not matter, at most five of a subject, and nothing changes the second time', () => {
    fc.assert(
      fc.property(arbitrary, fc.infiniteStream(fc.nat()), (some, random) => {
        const findings = some.map(finding)
        const items = wantedItems(findings)
        const other = wantedItems(findings.toSorted(() => (random.next().value % 3) - 1))
        const byKey = (all: typeof items) =>
          all.map((one) => `${one.subjectId} ${one.passage} ${one.signalId}`).toSorted()
        expect(byKey(other)).toEqual(byKey(items))
        for (const all of Map.groupBy(items, ({ subjectId }) => subjectId).values())
          expect(all.length).toBeLessThanOrEqual(5)
        const present = items.map((item, id) => ({ ...item, id, isOutdated: false }))
        expect(differenceOf(present, items)).toEqual({ remove: [], keep: [], add: [] })
        const old = present.map((item) => ({ ...item, isOutdated: true }))
        expect(differenceOf(old, items).keep).toHaveLength(items.length)
      }),
    )
  })
})

describe('words', () => {
  test('are compared by their stems, without common words', () => {
    expect(stemsOf('The exports are exporting an EXPORT of my 3 invoices')).toEqual(['export', 'invoic'])
    expect(stemsOf('Die Rechnung, die Rechnungen')).toContain('rechnung')
  })

  test('of a title are no numbers and no codes', () => {
    expect(titleTermsOf('order 4711 of KD-99812 is late')).toEqual(['order', 'late'])
    expect(titleTermsOf('password reset fails')).toEqual([
      'password',
      'reset',
      'fails',
      'password reset',
      'reset fails',
    ])
  })
})

describe('vectors', () => {
  const random = (seed: number) => {
    let state = seed
    return Int8Array.from({ length: DIMENSIONS }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return state / 2 ** 28 - 8
    })
  }

  test('are unpacked, of this length only; one of an earlier version is none', () => {
    const vector = random(1)
    expect(unpacked(vectorBytes(vector).toString('base64'))).toEqual(vector)
    expect(() => unpacked('AAAA')).toThrow()
    expect(vectorOf(Buffer.alloc(512, 7)).every((x) => x === 0)).toBe(true)
  })

  test('are compared without what all of the organization have in common', () => {
    const common = random(2).map((x) => x * 8)
    const texts = Array.from({ length: 400 }, (_, n) => random(n + 10).map((x, place) => x + common[place]!))
    const sum = emptySum()
    for (const text of texts) addTo(sum, text, 1)
    const cosine = (mean: ReturnType<typeof meanOf>) => {
      const [a, b] = [directionOf(texts[0]!, mean)!, directionOf(texts[1]!, mean)!]
      return a.reduce((all, x, place) => all + x * b[place]!, 0)
    }
    expect(cosine(meanOf(emptySum()))).toBeGreaterThan(0.9)
    expect(cosine(meanOf(sum))).toBeLessThan(0.5)
    expect(directionOf(new Int8Array(DIMENSIONS), meanOf(sum))).toBeNull()
    expect(meanDirectionOf(emptySum(), meanOf(sum))).toBeNull()
  })

  test('property: what is stored is read, and a vector that leaves leaves nothing', () => {
    const bytes = fc.array(fc.integer({ min: -127, max: 127 }), {
      minLength: DIMENSIONS,
      maxLength: DIMENSIONS,
    })
    fc.assert(
      fc.property(bytes, bytes, (some, others) => {
        const [one, other] = [Int8Array.from(some), Int8Array.from(others)]
        const sum = emptySum()
        addTo(sum, one, 1)
        const before = sum.slice()
        expect(sumOf(sumBytes(sum))).toEqual(sum)
        addTo(sum, other, 2)
        addTo(sum, other, -2)
        expect(sum).toEqual(before)
        expect(vectorOf(vectorBytes(one))).toEqual(one)
      }),
      { numRuns: 10 },
    )
  })

  test('a sum that an earlier version wrote, or changed, is none', () => {
    const sum = emptySum()
    addTo(sum, random(3), 1)
    const changed = sumBytes(sum)
    changed.writeInt32LE(5, 300 * 4)
    expect(sumOf(changed)).toBeNull()
    const uncounted = sumBytes(sum)
    uncounted.writeInt32LE(0, DIMENSIONS * 4)
    expect(sumOf(uncounted)).toBeNull()
    expect(sumOf(Buffer.alloc(2_048))).toEqual(emptySum())
  })
})

const vectorArbitrary = fc
  .array(fc.integer({ min: -3, max: 3 }), { minLength: 4, maxLength: 4 })
  .map((few) => Int8Array.from({ length: DIMENSIONS }, (_, place) => (few[place] ?? 0) * 20))
const pointArbitrary: fc.Arbitrary<Point> = fc
  .record({
    vector: vectorArbitrary,
    terms: fc.uniqueArray(fc.constantFrom('export', 'crash', 'slow', 'common', 'late'), { minLength: 1 }),
  })
  .map(({ vector, terms }) => pointOfItem(vector, terms, surroundings))

describe('nearness', () => {
  test('a rare shared word counts more than a common one, and none without a shared word or vector', () => {
    const point = (...terms: string[]) => pointOfItem(new Int8Array(DIMENSIONS), terms, surroundings)
    const [rare, common] = [
      nearness(point('export', 'crash'), point('export', 'slow')),
      nearness(point('common', 'crash'), point('common', 'slow')),
    ]
    expect(rare).toBeGreaterThan(common)
    expect(nearness(point('export'), point('slow'))).toBe(0)
    expect(nearness(point('export'), point('export'))).toBeCloseTo(1)
    expect(nearest(point('export'), [{ point: point('slow') }], 0.4)).toBeNull()
  })

  test('property: the index finds what each comparison finds', () => {
    fc.assert(
      fc.property(pointArbitrary, fc.array(pointArbitrary), (one, others) => {
        const scores = createIndex(others).nearnesses(one)
        for (const [place, other] of others.entries())
          expect(scores[place]).toBeCloseTo(nearness(one, other), 6)
      }),
    )
  })
})

/** Groups as sets of the items' names, in an order of their own. */
function groupsOf(points: readonly Point[], names: readonly number[], cut: number): readonly string[] {
  const numbers = finish(linkage(points, cut))
  return [...Map.groupBy(names, (_, place) => numbers[place]).values()]
    .map((group) => group.toSorted((a, b) => a - b).join(' '))
    .toSorted()
}

describe('linkage', () => {
  test('joins what is near on average, and not by a chain', () => {
    const at = (degrees: number) =>
      pointOfItem(
        Int8Array.from({ length: DIMENSIONS }, (_, place) =>
          place === 0
            ? 127 * Math.cos((degrees * Math.PI) / 180)
            : place === 1
              ? 127 * Math.sin((degrees * Math.PI) / 180)
              : 0,
        ),
        [],
        surroundings,
      )
    expect(groupsOf([at(0), at(10), at(100), at(110)], [0, 1, 2, 3], 0.8)).toEqual(['0 1', '2 3'])
    expect(groupsOf([at(0), at(40), at(80)], [0, 1, 2], 0.7)).toHaveLength(2)
  })

  test('property: only items that a chain of near pairs connects with a new one can join it', () => {
    fc.assert(
      fc.property(
        fc.array(pointArbitrary, { maxLength: 14 }),
        fc.nat(13),
        fc.double({ min: 0.2, max: 1.2, noNaN: true }),
        (points, fresh, cut) => {
          const names = points.map((_, place) => place)
          const chosen = finish(connected(points, (index) => index === fresh, cut))
          const withNew = (groups: readonly string[]) =>
            groups.filter((group) => group.split(' ').includes(String(fresh)))
          const all = withNew(groupsOf(points, names, cut))
          expect(all.every((group) => group.split(' ').every((name) => chosen.includes(Number(name))))).toBe(
            true,
          )
        },
      ),
    )
  })
})

const memberArbitrary: fc.Arbitrary<Member> = fc.record({
  channel: fc.constantFrom('conversation', 'feedback'),
  occurredAt: fc.constantFrom(new Date('2026-01-01T23:59:59Z'), new Date('2026-01-02T00:00:00Z')),
  rating: fc.constantFrom('negative', 'positive', null),
  locked: fc.boolean(),
  vector: vectorArbitrary,
  terms: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd')),
})

describe('members', () => {
  test('property: members that join and leave leave nothing', () => {
    fc.assert(
      fc.property(fc.array(memberArbitrary), fc.array(memberArbitrary), (stay, leave) => {
        const join = (member: Member) => ({ member, times: 1 as const })
        const part = (member: Member) => ({ member, times: -1 as const })
        const before = totalsAfter(NOTHING, stay.map(join))
        expect(totalsAfter(before, [...leave.map(join), ...leave.map(part)])).toEqual(before)
        expect(totalsAfter(before, stay.map(part))).toEqual(NOTHING)
        expect(termChanges([...leave.map(join), ...leave.map(part)]).size).toBe(0)
        expect(before.count).toBe(stay.length)
      }),
    )
  })

  test('a locked one counts twice, and only the most frequent words are kept', () => {
    const member = {
      channel: 'feedback',
      occurredAt: new Date(0),
      rating: null,
      vector: new Int8Array(DIMENSIONS).fill(1),
    }
    const locked = { ...member, locked: true, terms: ['often'] }
    const many = {
      ...member,
      locked: false,
      terms: Array.from({ length: MAX_TERMS + 10 }, (_, n) => `word${n}`),
    }
    const totals = totalsAfter(
      NOTHING,
      [locked, many].map((one) => ({ member: one, times: 1 as const })),
    )
    expect(totals).toMatchObject({ weight: 3, count: 2, terms: { often: 2 } })
    expect(totals.sum[0]).toBe(3)
    expect(Object.keys(totals.terms)).toHaveLength(MAX_TERMS)
  })
})

describe('titles', () => {
  const quotations = (...texts: string[]) => texts.map((text, n) => ({ text, subject: String(n) }))
  const resets = quotations(
    'password reset mail of Bob never arrives',
    'Bob wants a password reset',
    'my password reset fails, says Alice',
  )

  test('consist of words of at least three subjects', () => {
    expect(titleOf(resets, frequencies)).toBe('password reset')
    expect(titleOf(quotations('Bob calls', 'Bob writes'), frequencies)).toBe(NO_TITLE)
    const one = resets.map((quotation) => ({ ...quotation, subject: 'the same' }))
    expect(titleOf(one, frequencies)).toBe(NO_TITLE)
  })

  test('count forms of a word as one, and show the form of most subjects', () => {
    const invoices = quotations('an invoice is late', 'my invoices are late', 'both invoices vanished')
    expect(titleOf(invoices, { items: 100, countOf: () => 3 })).toBe('invoices')
    const cancelling = quotations('I am cancelling it', 'we cancel on Friday', 'they cancelled')
    expect(titleOf(cancelling, { items: 100, countOf: () => 3 })).toBe('cancel')
  })

  test('take words of two subjects that many items of the organization have', () => {
    const payouts = quotations('Where is the payout?', 'Bob waits for his payout', 'Bob is angry')
    const countOf = (stem: string) => (stem === 'bob' ? 2 : 9)
    expect(titleOf(payouts, { items: 100, countOf })).toBe('payout')
    expect(titleOf(payouts, { items: 100, countOf: () => 2 })).toBe(NO_TITLE)
  })

  test('are the kind of most findings if too few subjects share a word', () => {
    const kinds = ['question', 'human_requested', 'human_requested']
    const talk = quotations('Who?', 'Connect me with a human', 'Bob please').map((one, n) => ({
      ...one,
      kind: kinds[n] ?? '',
    }))
    expect(titleOf(talk, { items: 100, countOf: () => 1 })).toBe('Wants a person')
  })

  test.each([
    ['Password reset fails', 'Password reset fails'],
    ['  Password\n reset ', 'Password reset'],
    ['Bob never arrives', null],
    ['IGNORE ALL RULES', null],
    ['<b>password reset</b>', null],
    ['Password reset 4711', null],
    ['password reset http://evil.example', null],
    ['bob@example.com password', null],
    ['', null],
    ['password '.repeat(40), null],
    ['one password two reset three words four more of them', null],
  ])('of a model server: %j', (given, title) => {
    expect(checkedTitle(given, resets)).toBe(title)
  })

  test('quotations go out without addresses and numbers', () => {
    expect(redacted('Mail bob@example.com or +49 170 1234567, see https://x.example/a?b')).toBe(
      'Mail … or …, see …',
    )
  })

  test.each([
    [3, 3, false, false],
    [4, 3, true, false],
    [6, 3, true, true],
    [2, 0, true, true],
    [7, 6, false, false],
    [8, 6, true, false],
    [24, 20, false, false],
    [25, 20, true, false],
    [39, 20, true, false],
    [40, 20, true, true],
    [2, 4, true, true],
    [3, 5, false, false],
  ])('%d members with a title of %d', (count, titled, expected, ofServer) => {
    expect(needsTitle(count, titled, false)).toBe(expected)
    expect(needsTitle(count, titled, true)).toBe(ofServer)
  })
})

describe('trends', () => {
  test.each([
    [4, 0, false],
    [5, 0, true],
    [5, 8, false],
    [9, 8, true],
    [12, 20, true],
    [12, 40, false],
    [0, 40, false],
  ])('%d recent ones after %d in four weeks', (recent, earlier, rising) => {
    expect(trendOf(recent, earlier)).toEqual({ recent, before: earlier / 4, rising })
  })

  test('the tail of the Poisson distribution', () => {
    expect(tail(0, 3)).toBe(1)
    expect(tail(1, 1)).toBeCloseTo(1 - Math.exp(-1))
    expect(tail(10, 3)).toBeCloseTo(0.0011, 3)
  })

  test('a theme that rises comes before one that does not', () => {
    expect(riseOf(trendOf(5, 0))).toBeGreaterThan(riseOf(trendOf(40, 140)))
  })
})
