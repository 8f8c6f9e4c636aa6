/**
 * Use cases of stored conversations: list and read sessions, read their signals, delete a session.
 *
 * Sessions that the reader may not see (of another organization, or of an application with restricted conversation access) do not
 * exist for the reader: they are in no list, and their ids are 404.
 */

import type { Folders } from '../../../calls/folders/service.ts'
import type { Viewer } from '../../../kernel/principal.ts'
import type { Alongside } from '../../../platform/db/alongside.ts'
import type { MomentSlice, Slice } from '../../../platform/db/keyset.ts'
import type { Query, Sql } from '../../../platform/db/pool.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { AppError } from '../../../platform/errors.ts'
import type { Log } from '../../../platform/observability/log.ts'
import { deleteSessions } from '../sessions/deletion.store.ts'
import { listEvents, listRevisions } from './events.store.ts'
import type { SessionFilter } from './sessions.rules.ts'
import { findSession, listSessions } from './sessions.store.ts'
import { type SignalFilter, type SignalResource, signalResource } from './signals.rules.ts'
import * as store from './signals.store.ts'
import { type Reader, readableApplications } from './visible.store.ts'

export interface ConversationsDeps {
  readonly sql: Sql
  readonly reads: Query
  readonly log: Log
  readonly folders: Pick<Folders, 'visibleRecording'>
}

export type Conversations = ReturnType<typeof createConversations>

/** Lists return at most `limit + 1` rows. Row `limit + 1`, or the end of a scan (bounded-scan.ts), shows that there is another page. */
export function createConversations({ sql, reads, log, folders }: ConversationsDeps) {
  const access = (viewer: Viewer, query: Query = reads): store.SignalAccess => ({
    reader: {
      organizationId: viewer.organizationId,
      userId: viewer.kind === 'user' ? viewer.userId : null,
    },
    visibleRecording: folders.visibleRecording(query, viewer),
  })
  return {
    /** A query of the ids of the applications whose conversations the reader may see. For statements of other features. */
    readableApplications,

    /** Newest first. */
    sessions: (reader: Reader, filter: SessionFilter, slice: MomentSlice) =>
      listSessions(reads, reader, filter, slice),

    /** @throws AppError 404 */
    async session(reader: Reader, sessionId: string) {
      return (await findSession(reads, reader, sessionId)) ?? sessionNotFound()
    },

    /** The events of a session by sequence. The caller must have got the session from `session`, which checks access. */
    events: (reader: Reader, sessionId: string, slice: Slice<readonly [sequence: number]>) =>
      listEvents(reads, reader.organizationId, sessionId, slice),

    /** The revisions of an event of such a session, oldest first. Empty where the event does not exist. */
    revisions: (
      reader: Reader,
      sessionId: string,
      externalEventId: string,
      slice: Slice<readonly [revision: number]>,
    ) => listRevisions(reads, reader.organizationId, sessionId, externalEventId, slice),

    /**
     * Deletes the session with its events, revisions, signals and mailbox. The ledger keeps its metered units.
     * The session's row lock makes it wait for a running ingest request. A later request starts a new session.
     * @throws AppError 404
     */
    async deleteSession(reader: Reader, sessionId: string, also?: Alongside): Promise<void> {
      await transaction(sql, async (tx) => {
        if (!(await findSession(tx, reader, sessionId))) sessionNotFound()
        const deleted = await deleteSessions(tx, reader.organizationId, [sessionId])
        // A concurrent request has deleted it.
        if (deleted.length === 0) sessionNotFound()
        await also?.(tx, sessionId)
      })
      log.info(
        { organizationId: reader.organizationId, userId: reader.userId, sessionId },
        'agent session deleted',
      )
    },

    /** Signals of every channel, newest first. */
    signals: (viewer: Viewer, filter: SignalFilter, slice: MomentSlice) =>
      store.listSignals(reads, access(viewer), filter, slice),

    /** The signals of a session in the order of its events. */
    signalsOfSession: (
      viewer: Viewer,
      sessionId: string,
      filter: SignalFilter,
      slice: Slice<readonly [sequence: number, id: string]>,
    ) => store.listSignalsOfSession(reads, access(viewer), sessionId, filter, slice),

    /** @throws AppError 404 */
    async signal(viewer: Viewer, signalId: string) {
      const signal = await store.findSignal(reads, access(viewer), signalId)
      if (signal === undefined) throw new AppError('agent_signal_not_found', 'There is no such signal.')
      return signal
    },

    /** A finding that the viewer may see, also one that is hidden. For the transaction that corrects it. */
    finding: (query: Query, viewer: Viewer, signalId: string) =>
      store.findFinding(query, access(viewer, query), signalId),

    /** A signal as it is listed; null if it is not. */
    async shownSignal(query: Query, viewer: Viewer, signalId: string): Promise<SignalResource | null> {
      const row = await store.findSignal(query, access(viewer, query), signalId)
      return row === undefined ? null : signalResource(row)
    },
  }
}

function sessionNotFound(): never {
  throw new AppError('agent_session_not_found', 'There is no such session.')
}
