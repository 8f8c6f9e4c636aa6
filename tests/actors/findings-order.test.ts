/** However events, analyses and verdicts follow one another, a conversation ends with the same findings. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Analyzer, Found, Kind } from '../../src/analysis/analyze/insight.ts'
import { NO_TOKEN_LIMIT } from '../../src/analysis/analyze/token-budget.ts'
import { loadConfig } from '../../src/app/config.ts'
import { analysisActor } from '../../src/hear/agents/analysis/actor.ts'
import { sessionReanalysisActor } from '../../src/hear/agents/analysis/reanalysis.ts'
import { sessionActor } from '../../src/hear/agents/sessions/actor.ts'
import { newId } from '../../src/platform/ids.ts'
import {
  assistant,
  createApplication,
  createSession,
  runLongTurn,
  runSession,
  storeEvents,
  type TestApplication,
  type TestEvent,
  user,
} from '../support/agent-sessions.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { textWorkHere } from '../support/text-work.ts'

const KINDS = ['complaint', 'praise', 'question', 'confusion'] as const
/** What only the second pass finds. */
const LIKELY = new Set<Kind>(['question', 'confusion'])

let database: TestDatabase
let application: TestApplication
const deps = {
  newId,
  config: loadConfig({}),
  modelServer: null,
  textWork: textWorkHere,
  tokenBudget: NO_TOKEN_LIMIT,
}
const ofSessions = sessionActor(deps)

beforeAll(async () => {
  database = await createTestDatabase()
  application = await createApplication(database.sql)
})
afterAll(() => database.drop())

/** Finds each kind where a customer names it last. */
const analyzerOf = (kinds: readonly Kind[]): Analyzer => ({
  name: 'by-name',
  version: '1',
  analyze: async (subjects) =>
    subjects.map(({ said }) => {
      const findings = kinds.flatMap((kind): readonly Found[] => {
        const index = said.findLastIndex(({ own, text }) => !own && text.includes(kind))
        const from = said[index]?.text.indexOf(kind) ?? 0
        const tier = LIKELY.has(kind) ? 'likely' : 'sure'
        return index < 0
          ? []
          : [{ kind, tier, confidence: 1, rating: null, index, from, to: from + kind.length }]
      })
      const outcome = said.at(-1)?.own === false ? 'unresolved' : 'resolved'
      return { language: 'en', supported: true, outcome, sentiment: 'neutral', findings }
    }),
})
const first = analysisActor(deps, {
  first: analyzerOf(KINDS.filter((kind) => !LIKELY.has(kind))),
  isComplete: false,
  together: true,
})
const second = sessionReanalysisActor(deps, analyzerOf(KINDS))

const text = fc.subarray([...KINDS], { maxLength: 2 }).map((kinds) => ['hello', ...kinds].join(' '))
const event = fc.record({ own: fc.boolean(), texts: fc.array(text, { minLength: 1, maxLength: 3 }) })
const history = fc.record({
  events: fc.array(event, { minLength: 1, maxLength: 6 }),
  refused: fc.option(fc.constantFrom(...KINDS), { nil: null }),
  /** What happens one after the other, before everything is delivered: numbers select among what is left. */
  steps: fc.array(
    fc.record({
      deliver: fc.array(fc.nat(), { maxLength: 3 }),
      repeats: fc.boolean(),
      analyze: fc.boolean(),
      reread: fc.boolean(),
      judge: fc.boolean(),
    }),
    { maxLength: 8 },
  ),
})
type History = typeof history extends fc.Arbitrary<infer T> ? T : never

/** All revisions of all events, and how many of each are delivered. */
class Conversation {
  readonly #waiting = new Set<'analyze' | 'conversation'>()
  readonly #delivered: number[]

  constructor(
    readonly id: string,
    readonly history: History,
  ) {
    this.#delivered = history.events.map(() => 0)
  }

  #revision(n: number, revision: number): TestEvent {
    const { own, texts } = this.history.events[n]!
    const said = texts[revision - 1]!
    return { ...(own ? assistant(n, said) : user(n, said)), revision }
  }

  /** Delivers the next revision of some events, or their newest one again. */
  async deliver(picks: readonly number[], repeats: boolean): Promise<void> {
    const ns = new Set(picks.map((pick) => pick % this.history.events.length))
    const events = [...ns].flatMap((n) => {
      const known = this.#delivered[n]!
      const next = Math.min(this.history.events[n]!.texts.length, repeats && known > 0 ? known : known + 1)
      this.#delivered[n] = next
      return [this.#revision(n, next)]
    })
    await this.#store(events)
  }

  async deliverAll(): Promise<void> {
    await this.#store(this.history.events.map(({ texts }, n) => this.#revision(n, texts.length)))
  }

  async #store(events: readonly TestEvent[]): Promise<void> {
    if (events.length === 0) return
    await storeEvents(database.sql, this.id, events)
    const { newMessages } = await runSession(database.sql, ofSessions, this.id)
    for (const { key, type } of newMessages)
      if (!key.startsWith('passage:')) this.#waiting.add(type as 'analyze' | 'conversation')
  }

  async run(type: 'analyze' | 'conversation'): Promise<void> {
    if (!this.#waiting.delete(type)) return
    const { sent } = await runLongTurn(database.sql, type === 'analyze' ? first : second, this.id, type)
    for (const one of sent) this.#waiting.add(one.type as 'analyze' | 'conversation')
  }

  async judge(): Promise<void> {
    if (this.history.refused === null) return
    await database.sql`
      insert into finding_verdict (id, organization_id, subject_id, kind, was_right, analyzer_name, analyzer_version, tier)
      select ${newId()}, organization_id, id, ${this.history.refused}, false, 'by-name', '1', 'sure'
      from insight_subject where session_id = ${this.id}
      on conflict do nothing`
  }

  /** After the last analysis. The next one honours it. */
  async judgeAtLast(): Promise<void> {
    if (this.history.refused === null) return
    await this.judge()
    await runLongTurn(database.sql, second, this.id, 'conversation')
  }

  async runAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      await this.run('analyze')
      await this.run('conversation')
    }
  }
}

/** Each kind, where a customer names it last in the newest revisions. */
const expected = ({ events, refused }: History) =>
  KINDS.toSorted().flatMap((kind) => {
    const n = events.findLastIndex(({ own, texts }) => !own && texts.at(-1)?.includes(kind))
    return n < 0 || kind === refused ? [] : [[kind, `u${n}`]]
  })

async function endOf(id: string) {
  const [findings, subjects] = await Promise.all([
    database.sql`
      select kind, tier, comment, external_event_id as event, revision, target_event_external_id as target
      from agent_signal where session_id = ${id} order by kind`,
    database.sql`select state, outcome, sentiment, language from insight_subject where session_id = ${id}`,
  ])
  return { findings: [...findings], subjects: [...subjects] }
}

test('property: any order, batching and repetition of events, analyses and verdicts ends in the same findings', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (one) => {
      const straight = new Conversation(await createSession(database.sql, application), one)
      await straight.deliverAll()
      await straight.runAll()
      await straight.judgeAtLast()

      const winding = new Conversation(await createSession(database.sql, application), one)
      for (const step of one.steps) {
        await winding.deliver(step.deliver, step.repeats)
        if (step.analyze) await winding.run('analyze')
        if (step.judge) await winding.judge()
        if (step.reread) await winding.run('conversation')
      }
      await winding.deliverAll()
      await winding.runAll()
      await winding.judgeAtLast()

      const end = await endOf(winding.id)
      expect(end).toEqual(await endOf(straight.id))
      // A conversation in which no customer said a word has been looked at, too.
      expect(end.subjects).toMatchObject([{ state: expect.stringMatching(/^(?:analyzed|no_words)$/) }])
      expect(end.findings.map(({ kind, event }) => [kind, event])).toEqual(expected(one) as never)
    }),
    { numRuns: 60 },
  )
}, 300_000)
