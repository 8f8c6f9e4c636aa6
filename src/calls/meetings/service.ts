/**
 * Use cases of meeting joins: join and leave. What happens in between is done by the actor of the join (`actor.ts`).
 *
 * A meeting of an organization has one active recording. A unique index decides between concurrent requests, in whatever process
 * they arrive.
 */

import type { Organization } from '../../access/identity/service.ts'
import { type Outbox, transactionWithOutbox } from '../../actors/mailbox.ts'
import type { Deps } from '../../kernel/deps.ts'
import { meetingMessages } from '../../kernel/messages/meeting.ts'
import type { UserPrincipal, Viewer } from '../../kernel/principal.ts'
import type { Alongside } from '../../platform/db/alongside.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import { awaitRecorder, lockAsset, moveAsset } from '../assets/service.ts'
import type { Folders } from '../folders/service.ts'
import { countStatus } from './metrics.ts'
import type { JoinMeeting } from './model.ts'
import { asLeaving } from './plan.rules.ts'
import type { Recorder, RecorderDeps } from './recorder.ts'
import { assertSupported, draftOf, type JoinDraft } from './request.rules.ts'
import { createLinkSeal } from './sealing.ts'
import { isActive } from './status.rules.ts'
import * as store from './store.ts'

export type Meetings = ReturnType<typeof createMeetings>

/** Creates the recording of a meeting, in the transaction that stores the join. */
interface MeetingRecordings {
  createForMeeting(
    writing: { readonly tx: Tx; readonly outbox: Outbox; readonly viewer: Viewer },
    id: string,
    draft: {
      readonly displayName: string | null
      readonly folderIds: readonly string[]
      readonly source: string
    },
  ): Promise<void>
}

export interface MeetingsDeps
  extends Pick<
    Deps & RecorderDeps,
    'sql' | 'notifier' | 'newId' | 'clock' | 'config' | 'log' | 'metrics' | 'recorder'
  > {
  readonly folders: Folders
  readonly recordings: MeetingRecordings
  readonly identity: { findOrganization(id: string): Promise<Organization> }
}

export interface Joined {
  readonly id: string
  readonly recordingId: string
  /** false: the meeting was being recorded already. */
  readonly created: boolean
}

/** A recording with this `source` is of a meeting. */
const SOURCE = 'meeting'

export function createMeetings(deps: MeetingsDeps) {
  const { sql, newId, clock, config, folders, log } = deps
  const seal = createLinkSeal(config)
  return {
    /**
     * Has the recorder join the meeting. If a recording of the meeting is active, returns that one and changes nothing, and `also` does not run.
     * @throws AppError 401 `recording_not_permitted`; errors of `readBody`; 400 `unsupported_meeting_url`; 503 `recorder_unavailable`;
     * 404 `folder_not_found`
     */
    async join(
      user: UserPrincipal,
      readBody: () => Promise<JoinMeeting>,
      also?: Alongside<Joined>,
    ): Promise<Joined> {
      await assertPermitted(deps, user.organizationId)
      const draft = draftOf(await readBody(), clock.now())
      assertConfigured(deps.recorder)
      assertSupported(draft.address, deps.recorder)
      const id = newId()
      const made = { id, recordingId: newId(), sealedUrl: await seal.seal(draft.address.url, id) }
      const joined = await transactionWithOutbox(deps, async (tx, outbox) => {
        const written = await write(deps, { tx, outbox, user }, made, draft)
        if (written.created) await also?.(tx, written)
        return written
      })
      const { platform } = draft.address
      if (joined.created) countStatus(deps.metrics, platform, draft.joinAt === null ? 'joining' : 'scheduled')
      log.info({ ...joined, organizationId: user.organizationId, platform }, 'meeting join')
      return joined
    },

    /**
     * Makes the recorder leave. A meeting that is over, or that the bot is leaving, stays as it is, and `also` does not run.
     * @throws AppError 404 `recording_not_found`, `meeting_join_not_found`
     */
    async leave(viewer: Viewer, recordingId: string, also?: Alongside): Promise<store.JoinRow> {
      await folders.assertVisible(sql, viewer, recordingId)
      return transactionWithOutbox(deps, (tx, outbox) =>
        requestLeave(deps, { tx, outbox, also }, viewer, recordingId),
      )
    },
  }
}

async function assertPermitted({ identity }: MeetingsDeps, organizationId: string): Promise<void> {
  const { recordingAllowed } = await identity.findOrganization(organizationId)
  if (recordingAllowed) return
  throw new AppError('recording_not_permitted', 'This organization may not record meetings.', {
    headers: { 'www-authenticate': 'Bearer realm="earshot"' },
  })
}

function assertConfigured({ name }: Pick<Recorder, 'name'>): void {
  if (name !== 'none') return
  throw new AppError('recorder_unavailable', 'No recorder is configured, so no meeting can be joined.')
}

interface Writing {
  readonly tx: Tx
  readonly outbox: Outbox
  readonly user: UserPrincipal
}

interface Made {
  readonly id: string
  readonly recordingId: string
  readonly sealedUrl: Uint8Array
}

async function write(
  { folders, recordings, recorder }: MeetingsDeps,
  { tx, outbox, user }: Writing,
  { id, recordingId, sealedUrl }: Made,
  { address, joinAt, botName, displayName, folderIds }: JoinDraft,
): Promise<Joined> {
  const { organizationId } = user
  // Folders are locked before anything else, as everywhere.
  const resolved = await folders.resolve(tx, user, folderIds)
  const row = {
    ...{ id, organizationId, recordingId, recorder: recorder.name, sealedUrl, botName, joinAt },
    platform: address.platform,
    identity: address.identity,
    status: joinAt === null ? ('joining' as const) : ('scheduled' as const),
  }
  while (!(await store.insertJoin(tx, row))) {
    // The active join may end between the two statements.
    const active = await store.findActive(tx, organizationId, address.identity)
    if (active !== null) return { ...active, created: false }
  }
  const draft = { displayName, folderIds: resolved, source: SOURCE }
  await recordings.createForMeeting({ tx, outbox, viewer: user }, recordingId, draft)
  await awaitRecorder(tx, { organizationId, recordingId })
  await outbox.send([meetingMessages.message(id, 'check', { organizationId })])
  return { id, recordingId, created: true }
}

async function requestLeave(
  { config, folders, metrics }: MeetingsDeps,
  { tx, outbox, also }: Omit<Writing, 'user'> & { readonly also: Alongside | undefined },
  viewer: Viewer,
  recordingId: string,
): Promise<store.JoinRow> {
  const { organizationId } = viewer
  await folders.assertVisible(tx, viewer, recordingId)
  // The actor locks the recording before the join, too.
  await lockAsset(tx, { organizationId, recordingId })
  const join = await store.lockJoinOf(tx, organizationId, recordingId)
  if (join === null) throw new AppError('meeting_join_not_found', 'This recording is not of a meeting.')
  if (!isActive(join.status) || join.leaveRequestedAt !== null) return join
  const { join: left, effect } = asLeaving(join, config.meetings)
  if (effect !== null) await moveAsset(tx, { organizationId, recordingId }, 'recorderIsCancelled')
  await store.saveJoin(tx, join, left)
  if (left.status !== join.status) countStatus(metrics, join.platform, left.status)
  if (isActive(left.status))
    await outbox.send([meetingMessages.message(join.id, 'check', { organizationId })])
  await also?.(tx, left)
  return { ...join, ...left }
}
