/**
 * The data that an organization produces in a busy minute, for everything that has a list. One statement per table
 * writes it. One object per second, from `BURST_START` on. No statistics are collected.
 */
import type { Sql } from '../../src/platform/db/pool.ts'

const BURST_START = '2026-03-01T00:00:00Z'

export interface BurstOwner {
  readonly organizationId: string
  /** The last application has one session in a hundred. */
  readonly applicationIds: readonly [string, string]
  /** Owns every third folder. */
  readonly userId: string
  readonly feedbackSourceId: number
  readonly metadataSourceId: string
}

/** The ids of the numbered objects, by kind: `session`, `recording`, `folder`, `signal`. */
export function burstId({ organizationId }: Pick<BurstOwner, 'organizationId'>, kind: string, n: number) {
  const hex = new Bun.CryptoHasher('md5').update(`${organizationId} ${kind} ${n}`).digest('hex')
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-7$3-8$4-$5')
}

/** Writes `amount` objects of each kind, and `EVENTS` events and two signals for each session. */
export async function loadBurst(sql: Sql, owner: BurstOwner, amount: number): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`
      create or replace function pg_temp.burst_id(organization uuid, kind text, n int) returns uuid language sql immutable as $$
        select regexp_replace(
          md5(organization || ' ' || kind || ' ' || n),
          '^(.{8})(.{4}).(.{3}).(.{3})(.{12})$', '\\1-\\2-7\\3-8\\4-\\5')::uuid $$`.simple()
    await loadConversations(tx as unknown as Sql, owner, amount)
    await loadRecordings(tx as unknown as Sql, owner, amount)
    await loadFeedback(tx as unknown as Sql, owner, amount)
    await loadFindings(tx as unknown as Sql, owner, amount)
  })
}

const EVENTS = 6

const moments = (sql: Sql, amount: number) => sql`(
  select n, ${BURST_START}::text::timestamptz + n * interval '1 second' as at
  from generate_series(1, ${amount}::int) as n
) as moment`

async function loadConversations(sql: Sql, owner: BurstOwner, amount: number): Promise<void> {
  const { organizationId, applicationIds } = owner
  const application = sql`
    case when n % 100 = 0 then ${applicationIds[1]}::uuid else ${applicationIds[0]}::uuid end`
  const session = sql`pg_temp.burst_id(${organizationId}, 'session', n)`
  await sql`
    insert into agent_session (
      id, organization_id, application_id, external_session_id, status, processing_status, environment, participants,
      created_at, updated_at, last_activity_at
    )
    select ${session}, ${organizationId}, ${application}, 'chat-' || n, 'ended', 'completed', 'production',
      '[{"externalId": "p1", "role": "customer"}]', at, at, at
    from ${moments(sql, amount)}`
  await sql`
    insert into agent_event (
      organization_id, session_id, external_event_id, sequence, revision, type, final, occurred_at, body, fingerprint,
      settings_version, created_at
    )
    select ${organizationId}, ${session}, 'e' || sequence, sequence, 1, 'user_message', true, at,
      jsonb_build_object('content', repeat('What was said. ', 12)), ''::bytea, 1, at
    from ${moments(sql, amount)}, generate_series(1, ${EVENTS}::int) as sequence`
  await sql`
    insert into agent_signal (
      id, organization_id, application_id, session_id, source, kind, rating, external_event_id, sequence, revision,
      occurred_at, created_at
    )
    select pg_temp.burst_id(${organizationId}, 'signal ' || sequence, n), ${organizationId}, ${application}, ${session},
      'explicit_feedback', 'feedback', case sequence when 1 then 'positive' else 'negative' end, 'e' || sequence, sequence, 1,
      at, at
    from ${moments(sql, amount)}, generate_series(1, 2) as sequence`
  await sql`
    insert into agent_usage (organization_id, application_id, session_id, external_event_id, unit, created_at)
    select ${organizationId}, ${application}, ${session}, 'e2', 'agent_response_processed', at
    from ${moments(sql, amount)}`
}

async function loadRecordings(sql: Sql, owner: BurstOwner, amount: number): Promise<void> {
  const { organizationId, userId, metadataSourceId } = owner
  const recording = sql`pg_temp.burst_id(${organizationId}, 'recording', n)`
  await sql`
    insert into folder (id, organization_id, owner_user_id, name, created_at)
    select pg_temp.burst_id(${organizationId}, 'folder', n), ${organizationId},
      case when n % 3 = 0 then ${userId}::uuid end, 'Folder ' || n, at
    from ${moments(sql, amount)}`
  await sql`
    insert into recording (id, organization_id, display_name, source, started_at, created_at, transcript_status)
    select ${recording}, ${organizationId}, 'Call number' || n, 'api', at, at, 'completed'
    from ${moments(sql, amount)}`
  // Folder 1 holds ten recordings, folder 2 holds half of them.
  await sql`
    insert into recording_folder (organization_id, recording_id, folder_id)
    select ${organizationId}, ${recording},
      pg_temp.burst_id(${organizationId}, 'folder', case when n <= 10 then 1 else 2 end)
    from ${moments(sql, amount)}
    where n <= 10 or n % 2 = 0`
  await sql`
    insert into metadata_record (id, organization_id, source_id, recording_id, external_id)
    select gen_random_uuid(), ${organizationId}, ${metadataSourceId}, ${recording}, 'call-' || n
    from ${moments(sql, amount)}`
  await sql`
    insert into transcript_search (organization_id, recording_id, part, document)
    select ${organizationId}, ${recording}, 0,
      to_tsvector('simple', 'The invoices of customer' || n || case when n % 1000 = 0 then ' speak of zebras' else '' end)
    from ${moments(sql, amount)}`
}

async function loadFeedback(sql: Sql, owner: BurstOwner, amount: number): Promise<void> {
  const { organizationId, feedbackSourceId, metadataSourceId } = owner
  await sql`
    insert into person (public_id, organization_id, email, created_at)
    select gen_random_uuid(), ${organizationId}, 'p' || n || '@example.com', at
    from ${moments(sql, amount)}`
  await sql`
    insert into feedback_record (
      organization_id, feedback_source_id, person_id, external_id, display_ts, fields, created_at
    )
    select ${organizationId}, ${feedbackSourceId}, p.id, 'ticket-' || n, at, '[]', at
    from ${moments(sql, amount)}
    left join person p on p.organization_id = ${organizationId} and p.email = 'p' || n / 100 || '@example.com'`
  await sql`
    insert into feedback_source (organization_id, name, type, created_at)
    select ${organizationId}, 'Source ' || n, 'api', at from ${moments(sql, amount)}`
  await sql`
    insert into agent_application (id, organization_id, agent_key, name, created_at)
    select pg_temp.burst_id(${organizationId}, 'application', n), ${organizationId}, 'agent-' || n, 'Agent', at
    from ${moments(sql, Math.min(50, amount))}`
  await sql`
    insert into metadata_source (id, organization_id, external_entity_name, type, managed_by, created_at)
    select gen_random_uuid(), ${organizationId}, 'Source ' || n, 'api', 'customer', at from ${moments(sql, amount)}`
  await sql`
    insert into metadata_field (id, organization_id, source_id, name, type, created_at)
    select gen_random_uuid(), ${organizationId}, ${metadataSourceId}, 'Field ' || n, 'string', at
    from ${moments(sql, amount)}`
}

/** A finding in each feedback record and each recording. Every third of them is shown. */
async function loadFindings(sql: Sql, { organizationId }: BurstOwner, amount: number): Promise<void> {
  const shared = sql`
    'qualitative_inference', 'complaint', case n % 2 when 0 then 'positive' else 'negative' end, 'It is bad.', 'sure', 'builtin', '1'`
  await sql`
    insert into agent_signal (
      id, organization_id, channel, feedback_record_id, person_id, source, kind, rating, comment, tier, analyzer_name,
      analyzer_version, occurred_at, created_at, shown
    )
    select pg_temp.burst_id(${organizationId}, 'finding', n), ${organizationId}, 'feedback', r.id, r.person_id, ${shared}, at, at,
      n % 3 = 0
    from ${moments(sql, amount)}
    join feedback_record r on r.organization_id = ${organizationId} and r.external_id = 'ticket-' || n
    on conflict do nothing`
  await sql`
    insert into agent_signal (
      id, organization_id, channel, recording_id, source, kind, rating, comment, tier, analyzer_name, analyzer_version, occurred_at,
      created_at, shown
    )
    select pg_temp.burst_id(${organizationId}, 'call finding', n), ${organizationId}, 'recording',
      pg_temp.burst_id(${organizationId}, 'recording', n), ${shared}, at, at, n % 3 = 0
    from ${moments(sql, amount)}`
}
