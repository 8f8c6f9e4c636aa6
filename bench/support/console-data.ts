/**
 * A year of an organization, written directly: signals of conversations, feedback and calls, people, passages and themes.
 *
 * Triggers are off meanwhile. The notes of the counts are written as the triggers write them, and folded.
 */
import { loadConfig } from '../../src/app/config.ts'
import { createContainer } from '../../src/app/container.ts'
import { createFeatures } from '../../src/app/features.ts'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { foldAll } from '../../src/understand/counts/fold.ts'
import type { Environment } from './environment.ts'

/** Signals of a session; feedback records and calls have one. */
const SIGNALS_A_SESSION = 4
const MESSAGES = 200
const THEMES = 300
const PASSAGES = 50_000

export interface ConsoleData {
  readonly organizationId: string
  readonly userId: string
  /** A session of 200 messages. */
  readonly sessionId: string
}

interface Owner {
  readonly organizationId: string
  readonly userId: string
  readonly applicationIds: readonly string[]
}

/** Four applications that the user may read, and one that the user may not. */
async function createOwner({ databaseUrl }: Pick<Environment, 'databaseUrl'>): Promise<Owner> {
  const config = loadConfig({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent' })
  const container = createContainer(config, { database: { url: databaseUrl }, redis: null }, 'bench')
  try {
    const { identity, applications } = createFeatures(container)
    const { id: organizationId } = await identity.createOrganization('bench')
    const user = { email: 'reader@example.com', name: 'reader', role: 'administrator' as const }
    const { id: userId } = await identity.createUser(organizationId, user)
    const applicationIds: string[] = []
    for (const agentKey of ['one', 'two', 'three', 'four', 'closed']) {
      const settings =
        agentKey === 'closed' ? { conversationAccess: { type: 'restricted' as const, userIds: [] } } : {}
      applicationIds.push(
        (await applications.create(organizationId, { agentKey, name: agentKey, settings })).id,
      )
    }
    return { organizationId, userId, applicationIds }
  } finally {
    await container.close()
  }
}

/** The link with which the user signs in. */
export async function createLinkToken(
  { databaseUrl }: Pick<Environment, 'databaseUrl'>,
  userId: string,
): Promise<string> {
  const config = loadConfig({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent' })
  const container = createContainer(config, { database: { url: databaseUrl }, redis: null }, 'bench')
  try {
    return await createFeatures(container).identity.createLink(userId)
  } finally {
    await container.close()
  }
}

/** @param signals at least 100 */
export async function loadConsoleData(environment: Environment, signals: number): Promise<ConsoleData> {
  const owner = await createOwner(environment)
  const sql = connect(
    { url: environment.databaseUrl },
    { max: 1, applicationName: 'bench', statementTimeoutMs: null },
  )
  try {
    await sql`set session_replication_role = replica`
    const sessions = Math.floor((signals * 0.8) / SIGNALS_A_SESSION)
    await loadConversations(sql, owner, sessions)
    await loadOthers(sql, owner, Math.floor(signals * 0.15), Math.floor(signals * 0.05))
    const sessionId = await loadText(sql, owner)
    await loadThemes(sql, owner)
    await noteCounts(sql, owner)
    await sql`set session_replication_role = default`
    await foldAll(sql, new AbortController().signal)
    await sql`vacuum analyze`
    return { ...owner, sessionId }
  } finally {
    await sql.end({ timeout: 5 })
  }
}

const KINDS = ['bug_report', 'feature_request', 'question', 'complaint', 'praise', 'confusion', 'churn_risk']
const kindOf = (sql: Sql, n: ReturnType<Sql>) => sql`(${KINDS}::text[])[1 + (${n}) % ${KINDS.length}::int]`
const ratingOf = (sql: Sql, n: ReturnType<Sql>) =>
  sql`case (${n}) % ${KINDS.length}::int when 0 then 'negative' when 3 then 'negative' when 6 then 'negative' when 4 then 'positive' end`

async function loadConversations(sql: Sql, owner: Owner, sessions: number): Promise<void> {
  const { organizationId, applicationIds } = owner
  await sql`
    insert into person (public_id, organization_id, email, first_name, created_at)
    select gen_random_uuid(), ${organizationId}, 'p' || n || '@example.com', 'Person ' || n, now() - n * interval '1 minute'
    from generate_series(1, ${Math.ceil(sessions / 4)}::int) n`
  await sql`
    create unlogged table bench_session as
    select n, gen_random_uuid() as id, (${applicationIds as string[]}::uuid[])[1 + n % 5] as application_id,
      now() - random() * interval '365 days' as at, 'area-' || n % 8 as area, '1.' || n % 30 as version
    from generate_series(1, ${sessions}::int) n`
  await sql`
    insert into agent_session (
      id, organization_id, application_id, external_session_id, status, processing_status, agent_version, context, participants,
      last_activity_at, created_at, updated_at
    )
    select id, ${organizationId}, application_id, 'chat-' || n, 'ended', 'completed', version, jsonb_build_object('productArea', area),
      '[{"externalId": "p", "displayName": "Somebody", "boundary": "external"}]', at, at, at
    from bench_session`
  await sql`
    insert into agent_session_person (organization_id, session_id, participant_external_id, person_id, sole, occurred_at)
    select ${organizationId}, s.id, 'p', p.id, true, s.at
    from bench_session s join person p on p.organization_id = ${organizationId} and p.email = 'p' || s.n / 8 || '@example.com'`
  const kind = kindOf(sql, sql`s.n + j`)
  const rating = ratingOf(sql, sql`s.n + j`)
  await sql`
    insert into agent_signal (
      id, organization_id, application_id, session_id, source, kind, rating, comment, external_event_id, sequence, revision, occurred_at,
      created_at, confidence, tier, analyzer_name, analyzer_version, language, product_area, agent_version, person_id
    )
    select gen_random_uuid(), ${organizationId}, s.application_id, s.id,
      case j when 1 then 'explicit_feedback' else 'qualitative_inference' end, case j when 1 then 'message_feedback' else ${kind} end,
      case j when 1 then 'negative' else ${rating} end, 'The export of invoices fails every morning', 'e' || j, j, 1, s.at, s.at, 0.9,
      case j when 1 then null else 'sure' end, 'builtin', '1', 'en', s.area, s.version, p.id
    from bench_session s
    left join person p on p.organization_id = ${organizationId} and p.email = 'p' || s.n / 8 || '@example.com',
      generate_series(1, ${SIGNALS_A_SESSION}::int) j`
}

async function loadOthers(sql: Sql, owner: Owner, records: number, calls: number): Promise<void> {
  const { organizationId } = owner
  const [source] = await sql<{ id: number }[]>`
    insert into feedback_source (organization_id, name, type) values (${organizationId}, 'Help desk', 'api') returning id`
  const at = sql`now() - n * interval '2 minutes'`
  await sql`
    insert into feedback_record (organization_id, feedback_source_id, external_id, display_ts, fields, created_at)
    select ${organizationId}, ${source?.id ?? 0}, 'ticket-' || n, ${at},
      '[{"name": "comment", "type": "string", "value": "The export fails", "category": "content"}]', ${at}
    from generate_series(1, ${records}::int) n`
  await sql`
    insert into recording (id, organization_id, display_name, source, started_at, created_at, transcript_status)
    select gen_random_uuid(), ${organizationId}, 'Call ' || n, 'api', ${at}, ${at}, 'completed'
    from generate_series(1, ${calls}::int) n`
  const members = (n: ReturnType<Sql>, when: ReturnType<Sql>) => sql`
    'qualitative_inference', ${kindOf(sql, n)}, ${ratingOf(sql, n)}, 'It is far too slow', ${when}, ${when}, 0.9, 'sure', 'builtin', '1', 'en'`
  await sql`
    insert into agent_signal (
      id, organization_id, channel, feedback_record_id, source, kind, rating, comment, occurred_at, created_at, confidence, tier,
      analyzer_name, analyzer_version, language
    )
    select gen_random_uuid(), ${organizationId}, 'feedback', r.id, ${members(sql`r.id`, sql`r.display_ts`)}
    from feedback_record r where r.organization_id = ${organizationId}`
  await sql`
    insert into agent_signal (
      id, organization_id, channel, recording_id, start_sec, source, kind, rating, comment, occurred_at, created_at, confidence, tier,
      analyzer_name, analyzer_version, language
    )
    select gen_random_uuid(), ${organizationId}, 'recording', c.id, 3, ${members(sql`c.n`, sql`c.started_at`)}
    from (select r.*, row_number() over () as n from recording r where r.organization_id = ${organizationId}) c`
}

/** A long conversation, and passages to search. @returns the id of the conversation */
async function loadText(sql: Sql, { organizationId }: Owner): Promise<string> {
  const [long] = await sql<{ id: string }[]>`select id from bench_session where n = 5`
  const sessionId = long?.id ?? ''
  await sql`
    insert into agent_event (
      organization_id, session_id, external_event_id, sequence, revision, type, final, occurred_at, body, fingerprint, settings_version
    )
    select ${organizationId}, ${sessionId}, 'e' || n, n, 1, case n % 2 when 1 then 'user_message' else 'assistant_message' end, true, now(),
      jsonb_build_object('content', repeat('What was said. ', 12)), ''::bytea, 1
    from generate_series(1, ${MESSAGES}::int) n`
  await sql`
    insert into agent_event (
      organization_id, session_id, external_event_id, sequence, revision, type, final, occurred_at, body, fingerprint, settings_version
    )
    select ${organizationId}, id, 'e1', 1, 1, 'user_message', true, at,
      jsonb_build_object('content', 'The export of invoices fails with word' || n % 5000), ''::bytea, 1
    from bench_session where n <= ${PASSAGES}::int and n <> 5`
  await sql`
    insert into search_passage (
      organization_id, application_id, session_id, external_event_id, is_customer, occurred_at, configuration, document
    )
    select ${organizationId}, application_id, id, 'e1', true, at, 'english',
      search_document(${organizationId}, 'english', 'The export of invoices fails with word' || n % 5000)
    from bench_session where n <= ${PASSAGES}::int`
  await sql`insert into search_configuration (organization_id, configuration) values (${organizationId}, 'english')`
  return sessionId
}

async function loadThemes(sql: Sql, { organizationId }: Owner): Promise<void> {
  await sql`
    insert into theme (id, organization_id, title, centroid, weight, count, first_at, last_at)
    select gen_random_uuid(), ${organizationId}, 'Theme ' || n, decode(repeat('00', 2048), 'hex'), 100, 100, now() - interval '300 days', now()
    from generate_series(1, ${THEMES}::int) n`
  await sql`
    insert into theme_day (theme_id, day, channel, organization_id, count, negative, positive)
    select id, current_date - d, 'conversation', ${organizationId}, 2, 1, 0
    from theme, generate_series(0, 200) d where organization_id = ${organizationId}`
  await sql`
    insert into theme_item (organization_id, channel, subject_id, passage, signal_id, rating, occurred_at, theme_id, vector, terms)
    select ${organizationId}, 'conversation', g.session_id::text, g.id::text, g.id, 'negative', g.occurred_at, t.id,
      decode(repeat('00', 512), 'hex'), '{export,invoice}'
    from (
      select *, row_number() over () as n from agent_signal
      where organization_id = ${organizationId} and session_id is not null and tier is not null limit ${THEMES * 100}::int
    ) g
    join (select id, row_number() over () as n from theme where organization_id = ${organizationId}) t on t.n = 1 + g.n % ${THEMES}::int`
}

/** Changes of counts, as the triggers note them. */
async function noteCounts(sql: Sql, { organizationId }: Owner): Promise<void> {
  const columns = sql`(
    organization_id, metric, day, channel, application_id, source, kind, rating, status, product_area, agent_version, change
  )`
  await sql`
    insert into insight_count_change ${columns}
    select ${organizationId}, 'signals', (occurred_at at time zone 'UTC')::date, channel, application_id, null, kind, rating, null,
      product_area, agent_version, count(*)
    from agent_signal where organization_id = ${organizationId} group by 3, 4, 5, 7, 8, 10, 11`
  for (const [metric, status] of [
    ['sessions', 'ended'],
    ['outcomes', 'unresolved'],
  ] as const)
    await sql`
      insert into insight_count_change ${columns}
      select ${organizationId}, ${metric}, (at at time zone 'UTC')::date, 'conversation', application_id, null, null, null, ${status}, area,
        version, count(*)
      from bench_session group by 3, 5, 10, 11`
  await sql`
    insert into insight_count_change ${columns}
    select ${organizationId}, 'feedback', (display_ts at time zone 'UTC')::date, 'feedback', null, null, null, null, null, null, null, count(*)
    from feedback_record where organization_id = ${organizationId} group by 3`
  await sql`drop table bench_session`
}
