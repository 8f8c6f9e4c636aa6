/** Verdicts about findings: what they change, what they count for, who may give them, and how they open and close the gate. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Kind } from '../../src/analysis/analyze/insight.ts'
import { readStored } from '../../src/analysis/findings/findings.store.ts'
import { type SubjectRef, saveReadings } from '../../src/analysis/findings/save.ts'
import { CHANNELS, type Channel } from '../../src/kernel/channel.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { type Agents, createApplicationOf, ids, startAgents } from '../support/agents-http.ts'
import { eventually } from '../support/eventually.ts'
import { fileIn, insertFinding, insertRecord, insertRecording } from '../support/findings.ts'
import type { Credential } from '../support/server.ts'

const SIGNALS = '/v3/rest/signals'
const PRECISION = '/v3/rest/insights/precision'

let agents: Agents
beforeAll(async () => {
  agents = await startAgents({ actors: true })
})
afterAll(() => agents?.stop())

const organizationId = () => agents.organization.id
const get = (path: string, caller: Credential = agents.organization.key) => agents.call(caller, 'GET', path)
const judge = (id: string, body: unknown, caller: Credential = agents.organization.cleo.caller) =>
  agents.call(caller, 'PATCH', `${SIGNALS}/${id}`, body)

/** A finding of feedback, of a version of the analyser of its own, so that tests do not share counts. */
async function finding(values: Readonly<Record<string, unknown>> = {}) {
  const { recordId } = await insertRecord(agents.sql, organizationId())
  const version = newId()
  const id = await insertFinding(agents.sql, organizationId(), {
    channel: 'feedback',
    feedback_record_id: recordId,
    analyzer_version: version,
    ...values,
  })
  return { id, recordId, version: String(values.analyzer_version ?? version) }
}

const listed = async (recordId: number) => {
  const { body } = await get(`${SIGNALS}?recordId=${recordId}`)
  return body.data.map(({ id, kind, rating }: Record<string, unknown>) => ({ id, kind, rating }))
}

const verdicts = (recordId: number) => agents.sql`
  select v.kind, v.was_right, v.meant_kind, v.user_id
  from finding_verdict v
  join insight_subject i on i.id = v.subject_id
  where i.feedback_record_id = ${recordId}
  order by v.kind`

const counts = (version: string) => agents.sql`
  select kind, judged, was_right from kind_precision where analyzer_version = ${version} order by kind`

test('wrong: the finding disappears, and counts as wrong; right: it comes back, and counts as right', async () => {
  const { id, recordId, version } = await finding()
  const wrong = await judge(id, { verdict: 'wrong' })
  expect([wrong.status, wrong.body]).toMatchObject([
    200,
    {
      verdict: 'wrong',
      kind: 'complaint',
      meantKind: null,
      signal: null,
      precision: { tier: 'sure', channel: 'feedback', source: 'shipped', verdictsNeeded: 14 },
    },
  ])
  expect(await listed(recordId)).toEqual([])
  expect((await get(`${SIGNALS}/${id}`)).status).toBe(404)
  expect([...(await counts(version))]).toEqual([{ kind: 'complaint', judged: 1, was_right: 0 }])
  const right = await judge(id, { verdict: 'right' })
  expect(right.body).toMatchObject({ verdict: 'right', signal: { id, kind: 'complaint' } })
  expect(await listed(recordId)).toEqual([{ id, kind: 'complaint', rating: 'negative' }])
  expect([...(await verdicts(recordId))]).toEqual([
    { kind: 'complaint', was_right: true, meant_kind: null, user_id: agents.organization.cleo.id },
  ])
  expect([...(await counts(version))]).toEqual([{ kind: 'complaint', judged: 1, was_right: 1 }])
  await judge(id, { verdict: 'right' })
  expect([...(await counts(version))]).toEqual([{ kind: 'complaint', judged: 1, was_right: 1 }])
})

test('wrong with a kind: the finding takes it; another click replaces the verdict about what was found', async () => {
  const { id, recordId, version } = await finding()
  const { body } = await judge(id, { verdict: 'wrong', kind: 'praise' }, agents.organization.key)
  expect(body).toMatchObject({
    kind: 'complaint',
    meantKind: 'praise',
    signal: { id, kind: 'praise', rating: 'positive' },
  })
  expect([...(await verdicts(recordId))]).toEqual([
    { kind: 'complaint', was_right: false, meant_kind: 'praise', user_id: null },
  ])
  // The corrected kind is right, or the same correction comes again: nothing changes.
  expect((await judge(id, { verdict: 'right' })).status).toBe(200)
  expect((await judge(id, { verdict: 'wrong', kind: 'praise' })).status).toBe(200)
  expect(await listed(recordId)).toEqual([{ id, kind: 'praise', rating: 'positive' }])
  expect([...(await counts(version))]).toEqual([{ kind: 'complaint', judged: 1, was_right: 0 }])
  await judge(id, { verdict: 'wrong', kind: 'question' })
  expect(await listed(recordId)).toEqual([{ id, kind: 'question', rating: null }])
  expect([...(await verdicts(recordId))]).toMatchObject([{ kind: 'complaint', meant_kind: 'question' }])
  // What was found was right after all.
  await judge(id, { verdict: 'wrong', kind: 'complaint' })
  expect(await listed(recordId)).toEqual([{ id, kind: 'complaint', rating: 'negative' }])
  expect([...(await counts(version))]).toEqual([{ kind: 'complaint', judged: 1, was_right: 1 }])
})

test('if the subject has the kind that was meant already, that finding stays alone, and is shown', async () => {
  const { id, recordId } = await finding()
  const other = await insertFinding(agents.sql, organizationId(), {
    channel: 'feedback',
    feedback_record_id: recordId,
    kind: 'question',
    rating: null,
    shown: false,
  })
  await judge(id, { verdict: 'wrong', kind: 'question' })
  expect(await listed(recordId)).toEqual([{ id: other, kind: 'question', rating: null }])
})

test('a verdict writes an audit entry without what the customer said', async () => {
  const { id } = await finding({ comment: 'Secret words' })
  await judge(id, { verdict: 'wrong', kind: 'question' })
  const [entry, ...others] = await agents.sql`
    select action, object_id, principal_kind, details from audit_entry where object_id = ${id}`
  expect(others).toEqual([])
  expect(entry).toEqual({
    action: 'signal.judged',
    object_id: id,
    principal_kind: 'user',
    details: { kind: 'complaint', verdict: 'wrong', meantKind: 'question' },
  })
})

test('findings of conversations and recordings are judged, too', async () => {
  const application = await createApplicationOf(agents)
  const sessionId = await application.session()
  const ofConversation = await insertFinding(agents.sql, organizationId(), {
    session_id: sessionId,
    application_id: application.id,
    external_event_id: 'm1',
    sequence: 1,
    revision: 1,
  })
  const recordingId = await insertRecording(agents.sql, organizationId())
  const ofRecording = await insertFinding(agents.sql, organizationId(), {
    channel: 'recording',
    recording_id: recordingId,
  })
  for (const id of [ofConversation, ofRecording]) {
    expect((await judge(id, { verdict: 'wrong' }, agents.organization.key)).status).toBe(200)
    expect((await get(`${SIGNALS}/${id}`)).status).toBe(404)
  }
})

test('who may not see it, or not correct, gets 404 or 403', async () => {
  const { ada, bob, key } = agents.organization
  const recordingId = await insertRecording(agents.sql, organizationId())
  await fileIn(agents.sql, organizationId(), recordingId, ada.id)
  const id = await insertFinding(agents.sql, organizationId(), {
    channel: 'recording',
    recording_id: recordingId,
  })
  const right = { verdict: 'right' }
  for (const caller of [bob.caller, key, agents.stranger.key, agents.stranger.ada.caller]) {
    const { status, body } = await judge(id, right, caller)
    expect([status, body.code]).toEqual([404, 'agent_signal_not_found'])
  }
  expect((await judge(id, right, ada.caller)).status).toBe(200)
  expect((await judge(newId(), right)).status).toBe(404)
  const viewer = await agents.identity.createUser(organizationId(), {
    email: 'viewer@acme.example',
    name: 'Vi',
    role: 'viewer',
  })
  const caller = { userToken: await agents.identity.createUserToken(viewer.id, 600) }
  const { status, body } = await judge(id, right, caller)
  expect([status, body.code]).toEqual([403, 'role_required'])
})

test('explicit feedback, and findings of older versions, are 409', async () => {
  const application = await createApplicationOf(agents)
  const id = await application.signal(await application.session())
  const { status, body } = await judge(id, { verdict: 'wrong' }, agents.organization.key)
  expect([status, body.code]).toEqual([409, 'signal_not_correctable'])
})

test.each([
  [{}],
  [{ verdict: 'maybe' }],
  [{ verdict: 'wrong', kind: 'resolved' }],
  [{ verdict: 'wrong', kind: 'complaint' }],
  [{ verdict: 'right', kind: 'praise' }],
  [{ verdict: 'right', more: 1 }],
])('the body %j is 400', async (body) => {
  const { id } = await finding()
  expect((await judge(id, body)).status).toBe(400)
})

test('two verdicts at once count once', async () => {
  const { id, version } = await finding()
  const answers = await Promise.all([
    judge(id, { verdict: 'wrong', kind: 'praise' }),
    judge(id, { verdict: 'wrong', kind: 'question' }),
    judge(id, { verdict: 'wrong', kind: 'confusion' }),
  ])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect([...(await counts(version))]).toEqual([{ kind: 'complaint', judged: 1, was_right: 0 }])
})

test('hidden findings can be listed and judged; from 15 verdicts on they open the gate, and close it again', async () => {
  const { version } = await agents.precision()
  const sort = { kind: 'praise', tier: 'sure', analyzer_version: version, shown: false }
  const all = await Promise.all(Array.from({ length: 18 }, () => finding(sort)))
  const judged = all.slice(0, 15)
  const rest = all.slice(15)
  const hidden = ids(await get(`${SIGNALS}?shown=false&kind=praise&limit=100`))
  for (const { id } of all) expect(hidden).toContain(id)
  for (const { id } of judged.slice(0, 14)) await judge(id, { verdict: 'right' })
  const sorts = async () => {
    const { body } = await get(PRECISION)
    return body.data
      .find((one: { kind: string }) => one.kind === 'praise')
      .sorts.filter((one: { tier: string }) => one.tier === 'sure')
  }
  for (const one of await sorts())
    expect(one).toMatchObject({ shown: false, source: 'shipped', verdictsNeeded: 1 })
  const shownOf = async () => {
    const shown = ids(await get(`${SIGNALS}?kind=praise&limit=100`))
    return rest.filter(({ id }) => shown.includes(id)).length
  }
  expect(await shownOf()).toBe(0)
  // The last of 15.
  const { body } = await judge(judged[14]!.id, { verdict: 'right' })
  expect(body.precision).toMatchObject({
    shown: true,
    source: 'own',
    judged: 15,
    right: 15,
    verdictsNeeded: 0,
  })
  expect(body.precision.lowerBound).toBeCloseTo(0.858, 3)
  for (const one of await sorts()) expect(one).toMatchObject({ shown: true, source: 'own', precision: 1 })
  await eventually(async () => (await shownOf()) === rest.length)
  // 12 of 15 are too few. What a person called right stays.
  for (const { id } of judged.slice(0, 3)) await judge(id, { verdict: 'wrong' })
  await eventually(async () => (await shownOf()) === 0)
  const shown = ids(await get(`${SIGNALS}?kind=praise&limit=100`))
  // A finding of another test may have been corrected to praise.
  expect(all.filter(({ id }) => shown.includes(id))).toEqual(judged.slice(3))
  for (const one of await sorts()) expect(one).toMatchObject({ shown: false, source: 'own', right: 12 })
  // The verdicts of one organization are not another's.
  const others = await get(PRECISION, agents.stranger.key)
  for (const { sorts: some } of others.body.data)
    for (const one of some) expect([one.source, one.verdictsNeeded]).toEqual(['shipped', 15])
})

test('the precision has every kind, by tier and channel, with the shipped figures', async () => {
  const { body } = await get(`${PRECISION}?language=en`, agents.stranger.cleo.caller)
  expect(body.data.map(({ kind }: { kind: string }) => kind)).toHaveLength(11)
  const wrongAnswer = body.data.find((one: { kind: string }) => one.kind === 'wrong_answer')
  expect(wrongAnswer.sorts).toHaveLength(6)
  const question = body.data.find((one: { kind: string }) => one.kind === 'question')
  expect(question.sorts).toContainEqual(
    expect.objectContaining({ tier: 'sure', channel: 'conversation', source: 'shipped' }),
  )
  for (const { shown, sorts } of body.data)
    expect(shown).toBe(sorts.some((one: { shown: boolean }) => one.shown))
  expect((await get(`${PRECISION}?language=english`)).status).toBe(400)
})

describe('another analysis', () => {
  /** Analyses the subject again, as a writer of any channel does. */
  async function analyse(subject: SubjectRef, kinds: readonly Kind[]): Promise<void> {
    const [occurredAt, tier, rating, confidence] = ['2026-01-02T03:04:05Z', 'sure', null, 0.9] as const
    const place =
      subject.channel === 'conversation'
        ? { externalEventId: 'm1', sequence: 1, revision: 1 }
        : { field: 'answer' }
    await transaction(agents.sql, async (tx) => {
      const stored = await readStored(tx, subject.channel, [subject.id])
      await saveReadings(tx, newId, stored, [
        {
          subject,
          analyzer: { name: 'builtin', version: 'next' },
          ...{ state: 'analyzed', language: 'en', outcome: null, saying: [], sentiment: null },
          drafts: kinds.map((kind) => ({
            ...{ kind, tier, rating, confidence, occurredAt, comment: 'Said again.' },
            ...place,
          })),
          ...{ keepsLikely: false, outdatesOthers: false },
        },
      ])
    })
  }

  async function subjectOf(channel: Channel) {
    const shared = { channel, organizationId: organizationId(), occurredAt: '2026-01-02T03:04:05Z' }
    if (channel === 'conversation') {
      const application = await createApplicationOf(agents)
      const id = await application.session()
      const place = { external_event_id: 'm1', sequence: 1, revision: 1 }
      return {
        subject: { ...shared, id, applicationId: application.id },
        columns: { session_id: id, application_id: application.id, ...place },
        query: `sessionId=${id}`,
      }
    }
    if (channel === 'feedback') {
      const { recordId } = await insertRecord(agents.sql, organizationId())
      return {
        subject: { ...shared, id: String(recordId) },
        columns: { channel, feedback_record_id: recordId },
        query: `recordId=${recordId}`,
      }
    }
    const id = await insertRecording(agents.sql, organizationId())
    return { subject: { ...shared, id }, columns: { channel, recording_id: id }, query: `recordingId=${id}` }
  }

  test.each(CHANNELS)(
    'of %s does not bring back what was wrong, nor lose what was right',
    async (channel) => {
      const { subject, columns, query } = await subjectOf(channel)
      const kindOf = async () => {
        const { body } = await get(`${SIGNALS}?${query}`)
        return body.data.map(({ id, kind }: Record<string, unknown>) => [id, kind])
      }
      const insert = (kind: string) => insertFinding(agents.sql, organizationId(), { ...columns, kind })
      const wrong = await insert('complaint')
      await judge(wrong, { verdict: 'wrong' }, agents.organization.key)
      await analyse(subject, ['complaint'])
      expect(await kindOf()).toEqual([])
      const corrected = await insert('bug_report')
      await judge(corrected, { verdict: 'wrong', kind: 'question' }, agents.organization.key)
      await analyse(subject, ['bug_report', 'complaint'])
      expect(await kindOf()).toEqual([[corrected, 'question']])
      await analyse(subject, [])
      expect(await kindOf()).toEqual([[corrected, 'question']])
      // The verdict can still be changed: the kind that was found was right.
      await judge(corrected, { verdict: 'wrong', kind: 'bug_report' }, agents.organization.key)
      await analyse(subject, ['complaint'])
      expect(await kindOf()).toEqual([[corrected, 'bug_report']])
    },
  )
})
