/** The gate of an organization: which figures decide, and how stored findings follow. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type LongTurn, type NewMessage, NO_ORGANIZATION } from '../../src/actors/types.ts'
import { gateOf, isShown, passesGate, requiredPrecision } from '../../src/analysis/analyze/gate.rules.ts'
import { KINDS, TIERS } from '../../src/analysis/analyze/insight.ts'
import { findingGateActor, readGates } from '../../src/analysis/findings/gate.ts'
import { type Reading, saveReadings } from '../../src/analysis/findings/save.ts'
import { decide, deltasOf } from '../../src/analysis/findings/verdict.rules.ts'
import { CHANNELS } from '../../src/kernel/channel.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { insertFinding, insertRecord } from '../support/findings.ts'

let database: TestDatabase
const organizationId = newId()
const neighbour = newId()
beforeAll(async () => {
  database = await createTestDatabase()
  for (const id of [organizationId, neighbour])
    await database.sql`insert into organization (id, name) values (${id}, 'Test')`
})
afterAll(() => database.drop())

describe('what decides', () => {
  test('15 verdicts decide: 15 of 15 open, 14 of 14 do not', () => {
    const gate = (right: number, wrong: number) =>
      gateOf([right, wrong], 'complaint', 'sure', 'en', 'feedback')
    expect(gate(15, 0)).toEqual({ shown: true, source: 'own', figures: [15, 0] })
    expect(gate(14, 0)).toMatchObject({ shown: false, source: 'shipped' })
    expect(gate(14, 1)).toMatchObject({ shown: false, source: 'own' })
    expect(gate(19, 1)).toMatchObject({ shown: true, source: 'own' })
    expect(gate(0, 15)).toMatchObject({ shown: false, source: 'own' })
  })

  test('property: fewer verdicts change nothing, more of them decide alone', () => {
    const any = <T>(values: readonly T[]) => fc.constantFrom(...values)
    fc.assert(
      fc.property(
        fc.nat(40),
        fc.nat(40),
        any(KINDS),
        any(TIERS),
        any(['en', 'de', null]),
        any(CHANNELS),
        (right, wrong, kind, tier, language, channel) => {
          const { shown } = gateOf([right, wrong], kind, tier, language, channel)
          const expected =
            right + wrong < 15
              ? isShown(kind, tier, language, channel)
              : passesGate([right, wrong], requiredPrecision(kind, channel))
          expect(shown).toBe(expected)
        },
      ),
    )
  })

  test('property: counts follow the last verdict about each kind', () => {
    const kind = fc.constantFrom(...KINDS)
    const judgement = fc.record({
      verdict: fc.constantFrom('right' as const, 'wrong' as const),
      kind: fc.option(kind, { nil: undefined }),
    })
    fc.assert(
      fc.property(kind, fc.array(judgement, { maxLength: 8 }), (first, judgements) => {
        let [shownKind, foundKind] = [first, null as typeof first | null]
        let [judged, right] = [0, 0]
        let earlier: Parameters<typeof deltasOf>[0] = null
        for (const one of judgements) {
          const decision = decide(shownKind, foundKind, one)
          if (decision === null) continue
          // Whatever a person says, the verdict is about what the analyser found.
          expect(decision.verdict.kind).toBe(first)
          const sort = { kind: first, tier: 'sure', language: '', analyzerName: 'a', analyzerVersion: '1' }
          const present = { ...sort, wasRight: decision.verdict.wasRight }
          for (const delta of deltasOf(earlier, present)) {
            judged += delta.judged
            right += delta.right
          }
          earlier = present
          ;[shownKind, foundKind] = [decision.finding.kind, decision.finding.foundKind]
          expect([judged, right]).toEqual([1, decision.verdict.wasRight ? 1 : 0])
          expect(foundKind).not.toBe(shownKind)
        }
      }),
    )
  })

  test('the verdicts of an organization count for it alone, in their language', async () => {
    await count('question', 'sure', 20, 1, 'fr')
    const shows = await readGates(database.sql, [organizationId, neighbour], ANALYZER)
    expect(shows(organizationId, 'question', 'sure', 'fr', 'feedback')).toBe(true)
    expect(shows(organizationId, 'question', 'sure', 'de', 'feedback')).toBe(false)
    expect(shows(neighbour, 'question', 'sure', 'fr', 'feedback')).toBe(false)
  })
})

const ANALYZER = { name: 'builtin', version: 'test' }

async function count(kind: string, tier: string, right: number, wrong: number, language = 'en') {
  await database.sql`
    insert into kind_precision (organization_id, kind, language, analyzer_name, analyzer_version, tier, judged, was_right)
    values (${organizationId}, ${kind}, ${language}, ${ANALYZER.name}, ${ANALYZER.version}, ${tier}, ${right + wrong}, ${right})
    on conflict (organization_id, kind, language, analyzer_name, analyzer_version, tier) do update set
      judged = excluded.judged, was_right = excluded.was_right`
}

/** Runs turns until no message is left. @returns how many there were */
async function follow(kind: string, portion: number): Promise<number> {
  const actor = findingGateActor(portion)
  const handler = actor.pool === 'short' ? undefined : actor.handlers.follow
  if (typeof handler !== 'function') throw new Error('no handler')
  let turns = 0
  let payload: unknown = {
    ...{ kind, tier: 'sure', language: 'en' },
    ...{ analyzerName: ANALYZER.name, analyzerVersion: ANALYZER.version },
  }
  while (payload !== undefined) {
    const sent: NewMessage[] = []
    const inTransaction: LongTurn['step'] = (work) =>
      transaction(database.sql, (tx) => work(tx, async (some) => void sent.push(...some)))
    await handler({
      message: {
        key: `finding_gate:${organizationId}`,
        id: organizationId,
        seq: 1,
        type: 'follow',
        payload: payload as LongTurn['message']['payload'],
        attempts: 0,
      },
      organization: NO_ORGANIZATION,
      signal: new AbortController().signal,
      log: createLog('silent', 'test'),
      read: inTransaction as LongTurn['read'],
      step: inTransaction,
      finish: inTransaction,
    })
    turns += 1
    payload = sent[0]?.payload
  }
  return turns
}

test('stored findings follow in bounded portions, over several turns, and judged ones stay', async () => {
  const { sql } = database
  const insert = async (values: object, organization = organizationId) => {
    const { recordId } = await insertRecord(sql, organization)
    return insertFinding(sql, organization, {
      ...{
        channel: 'feedback',
        feedback_record_id: recordId,
        kind: 'complaint',
        tier: 'sure',
        shown: false,
      },
      ...{ analyzer_name: ANALYZER.name, analyzer_version: ANALYZER.version },
      ...values,
    })
  }
  const followers: string[] = []
  for (let n = 0; n < 45; n++) followers.push(await insert({}))
  const judgedWrong = await insert({})
  await sql`
    with subject as (
      insert into insight_subject (id, organization_id, channel, feedback_record_id, occurred_at, state)
      select ${newId()}, organization_id, 'feedback', feedback_record_id, now(), 'analyzed'
      from agent_signal where id = ${judgedWrong}
      returning id
    )
    insert into finding_verdict (id, organization_id, subject_id, kind, was_right, analyzer_name, analyzer_version, tier)
    select ${newId()}, ${organizationId}, id, 'complaint', false, 'builtin', 'test', 'sure' from subject`
  const others = [
    judgedWrong,
    await insert({ tier: 'likely' }),
    await insert({ language: 'de' }),
    await insert({ analyzer_version: 'older' }),
    await insert({ kind: 'praise' }),
    await insert({ found_kind: 'praise' }),
    await insert({}, neighbour),
  ]
  const shown = async () => {
    const rows = await sql<{ id: string }[]>`select id from agent_signal where shown order by id`
    return rows.map(({ id }) => id)
  }
  await count('complaint', 'sure', 15, 0)
  // 51 signals of the organization, 20 portions of 2 a turn.
  expect(await follow('complaint', 2)).toBe(2)
  expect(await shown()).toEqual(followers.toSorted())
  await count('complaint', 'sure', 12, 3)
  expect(await follow('complaint', 1_000)).toBe(1)
  expect(await shown()).toEqual([])
  expect(others).toHaveLength(7)
})

test('an analysis shows what the organization’s own verdicts allow', async () => {
  const { sql } = database
  await count('repeated_problem', 'sure', 15, 0)
  const analyse = async (organization: string) => {
    const { recordId } = await insertRecord(sql, organization)
    const reading: Reading = {
      subject: {
        channel: 'feedback',
        id: String(recordId),
        organizationId: organization,
        occurredAt: '2026-01-02T03:04:05Z',
      },
      analyzer: ANALYZER,
      ...{ state: 'analyzed', language: 'en', outcome: null, saying: [], sentiment: null },
      drafts: [
        {
          ...{ kind: 'repeated_problem', rating: 'negative', tier: 'sure', confidence: 0.9 },
          ...{ comment: 'Again.', occurredAt: '2026-01-02T03:04:05Z', field: 'answer' },
        },
      ],
      keepsLikely: false,
      outdatesOthers: false,
    }
    await transaction(sql, (tx) => saveReadings(tx, newId, new Map(), [reading]))
    const [row] = await sql`select shown from agent_signal where feedback_record_id = ${recordId}`
    return row!.shown
  }
  expect(await analyse(organizationId)).toBe(true)
  expect(await analyse(neighbour)).toBe(false)
})
