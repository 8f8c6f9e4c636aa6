/** What tests of meeting joins share: settings with short times, joining, and the checks of maintenance. */
import { meetingMaintenance } from '../../src/calls/meetings/maintenance.ts'
import type { JoinRow } from '../../src/calls/meetings/store.ts'
import type { Query } from '../../src/platform/db/pool.ts'
import { RECORDINGS } from './recordings.ts'
import type { Client, TestServer } from './server.ts'

export const JOINS = `${RECORDINGS}/meeting-joins`

/** A recorder is configured. Nothing answers at its address. */
export const RECORDER_ENV = {
  RECORDER: 'attendee',
  RECORDER_URL: 'http://127.0.0.1:9',
  RECORDER_API_KEY: 'test',
  RECORDER_WEBHOOK_SECRET: 'c2VjcmV0',
  RECORDER_POLL: '1',
  RECORDER_TIMEOUT: '1',
  // Processes of one service share the key of user tokens.
  SECRET_KEY: 'meetings'.repeat(6),
}

let meetings = 1_000_000_000

/** A link to a new Zoom meeting, with a password. */
export const newMeeting = () => `https://zoom.us/j/${++meetings}?pwd=Geheim.1`

/** Joins and returns the answer's body. */
export async function joinMeeting(client: Client, body: object = {}) {
  const answer = await client.post(JOINS, { type: 'meetingUrl', joinUrl: newMeeting(), ...body })
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return answer.body as { readonly id: string; readonly recordingId: string; readonly created: boolean }
}

/** Sends due checks often, as worker threads do. Time passes for the joins as `pass` says. */
export function startChecks({ deps }: Pick<TestServer, 'deps'>) {
  const [checks] = meetingMaintenance(deps)
  const stopping = new AbortController()
  const ended = (async () => {
    while (!stopping.signal.aborted) {
      await checks?.run(stopping.signal).catch(() => {})
      await Bun.sleep(30)
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await ended
    },
  }
}

/** The join as the database has it. */
export async function joinRow({ database }: Pick<TestServer, 'database'>, id: string) {
  const [row] = await database.sql<
    (Omit<JoinRow, 'now' | 'sealedUrl'> & { readonly hasUrl: boolean })[]
  >`select *, bot_id as "botId", error_code as "errorCode", join_sent_at as "joinSentAt", next_check_at as "nextCheckAt", sealed_url is not null as "hasUrl"
    from meeting_join where id = ${id}`
  return row
}

/** Makes everything about the join this much older, and has it checked now. */
export async function age({ database }: Pick<TestServer, 'database'>, id: string, seconds: number) {
  await database.sql`
    update meeting_join
    set
      status_since = status_since - make_interval(secs => ${seconds}),
      join_at = join_at - make_interval(secs => ${seconds}),
      join_sent_at = join_sent_at - make_interval(secs => ${seconds}),
      next_check_at = case when next_check_at is not null then now() end
    where id = ${id}`
}

/** Has the join checked now. */
export const hasten = (server: Pick<TestServer, 'database'>, id: string) => age(server, id, 0)

/** Makes the recording one of a meeting that is over. `botId`: the recorder keeps a copy under this id. */
export async function insertEndedJoin(
  sql: Query,
  organizationId: string,
  recordingId: string,
  botId: string | null = null,
): Promise<void> {
  await sql`
    insert into meeting_join (
      id, organization_id, recording_id, recorder, platform, identity, status, bot_name, bot_id
    )
    values (
      ${crypto.randomUUID()}, ${organizationId}, ${recordingId}, 'attendee', 'zoom', 'zoom:test', 'ended', 'Bot', ${botId}
    )`
}
