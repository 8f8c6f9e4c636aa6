/**
 * The timeline of a person: what they said on every channel, newest first.
 *
 * The same rules of access hold as in the lists: of recordings by their folders, of conversations by their application. What the caller may
 * not see is not there.
 */

import { textOf } from '../../../analysis/analyze/text.ts'
import type { Folders } from '../../../calls/folders/service.ts'
import type { Conversations } from '../../../hear/agents/reads/service.ts'
import { CHANNELS, type Channel } from '../../../kernel/channel.ts'
import type { Deps } from '../../../kernel/deps.ts'
import type { OrganizationPrincipal, UserPrincipal } from '../../../kernel/principal.ts'
import type { Directory, PersonRef, PersonRow } from '../../../people/directory.ts'
import type { Period } from '../model.ts'
import { excerptOf } from '../words.rules.ts'
import { behind, type ChannelPage, joinPages, type Place } from './page.rules.ts'
import * as pages from './page.store.ts'
import * as quotes from './quotes.store.ts'

export type Timeline = ReturnType<typeof createTimeline>

export interface TimelineDeps extends Pick<Deps, 'reads'> {
  readonly folders: Pick<Folders, 'visibleRecording'>
  readonly conversations: Pick<Conversations, 'readableApplications'>
  readonly directory: Pick<Directory, 'get' | 'getByEmail' | 'idsOf'>
}

export type TimelineCaller = OrganizationPrincipal | UserPrincipal

export interface TimelineRequest extends Period {
  readonly channel?: Channel | undefined
  readonly after: Place | null
  readonly limit: number
}

/** Something that the person said. */
interface Passage {
  readonly text: string
  /** In a conversation. */
  readonly messageId: string | null
  /** In a recording. */
  readonly startSec: number | null
  readonly occurredAt: Date | null
}

export interface TimelineEntry {
  readonly place: Place
  readonly channel: Channel
  readonly id: string
  /** Of a feedback record; null elsewhere. */
  readonly sourceId: number | null
  readonly title: string | null
  readonly occurredAt: Date
  readonly text: string | null
  readonly startSec: number | null
  readonly said: readonly Passage[]
  readonly signals: readonly Omit<quotes.TimelineSignal, 'subject'>[]
}

export interface TimelinePage {
  readonly person: PersonRow
  /** At most `limit`, and one more where there are more. */
  readonly entries: readonly TimelineEntry[]
  /** Where the search ended before the page was full. */
  readonly end: Place | null
}

/** Characters of a passage. */
const EXCERPT = 500

/** An entry before its passages are read. */
interface Row {
  readonly place: Place
  readonly channel: Channel
  readonly id: string
  readonly sourceId: number | null
  readonly title: string | null
  readonly occurredAt: Date
  /** Of a recording. */
  readonly summary: string | null
}

export function createTimeline(deps: TimelineDeps) {
  const { directory } = deps
  const read = (caller: TimelineCaller, person: PersonRow, request: TimelineRequest) =>
    readPage(deps, caller, person, request)
  return {
    /** @throws AppError 404 `person_not_found` */
    person: (organizationId: string, wanted: PersonRef | { readonly email: string }): Promise<PersonRow> =>
      typeof wanted === 'object'
        ? directory.getByEmail(organizationId, wanted.email)
        : directory.get(organizationId, wanted),

    /** One page. The caller has got the person from `person`. */
    page: read,
  }
}

async function readPage(
  deps: TimelineDeps,
  caller: TimelineCaller,
  person: PersonRow,
  request: TimelineRequest,
): Promise<TimelinePage> {
  const { organizationId } = caller
  const ids = await deps.directory.idsOf(organizationId, person.id)
  const channels = CHANNELS.filter((one) => request.channel === undefined || request.channel === one)
  const found = await Promise.all(
    channels.map((channel) => {
      const { since, until, limit } = request
      const after = request.after === null ? null : behind(channel, request.after)
      return PAGES[channel](deps, caller, { organizationId, ids, since, until, after, limit })
    }),
  )
  const { rows, end } = joinPages(found, request.limit)
  // The extra row only shows that there are more.
  const shown = await withPassages(deps, organizationId, ids, rows.slice(0, request.limit))
  const extra = rows.slice(request.limit).map((row) => entryOf(row, [], []))
  return { person, entries: [...shown, ...extra], end }
}

type ReadChannel = (
  deps: TimelineDeps,
  caller: TimelineCaller,
  scope: pages.Scope,
) => Promise<ChannelPage<Row>>

const PAGES: Readonly<Record<Channel, ReadChannel>> = {
  async feedback({ reads }, _, scope) {
    const rows = await pages.feedbackPage(reads, scope)
    return { rows: rows.map((row) => rowOf('feedback', row)), end: null }
  },
  async conversation({ reads, conversations }, caller, scope) {
    const { organizationId } = caller
    const reader = { organizationId, userId: caller.kind === 'user' ? caller.userId : null }
    const applications = conversations.readableApplications(reads, reader, undefined)
    const rows = await pages.sessionPage(reads, scope, applications)
    const end = rows.length > scope.limit ? undefined : await pages.endOfSessions(reads, scope)
    return bounded('conversation', rows, end)
  },
  async recording({ reads, folders }, caller, scope) {
    const rows = await pages.recordingPage(reads, scope, folders.visibleRecording(reads, caller))
    const end = rows.length > scope.limit ? undefined : await pages.endOfRecordings(reads, scope)
    return bounded('recording', rows, end)
  },
}

function bounded(
  channel: Channel,
  rows: readonly ListedRow[],
  end: pages.EndRow | undefined,
): ChannelPage<Row> {
  return {
    rows: rows.map((row) => rowOf(channel, row)),
    end: end === undefined ? null : [end.moment, channel, end.id],
  }
}

type ListedRow = pages.PageRow & { readonly sourceId?: number; readonly summary?: string | null }

function rowOf(channel: Channel, { moment, sourceId = 0, summary = null, ...row }: ListedRow): Row {
  return {
    ...row,
    channel,
    place: [moment, channel, row.id],
    sourceId: channel === 'feedback' ? sourceId : null,
    summary,
  }
}

async function withPassages(
  { reads }: TimelineDeps,
  organizationId: string,
  personIds: readonly number[],
  rows: readonly Row[],
): Promise<readonly TimelineEntry[]> {
  const idsOf = (channel: Channel) => rows.filter((row) => row.channel === channel).map(({ id }) => id)
  const [records, sessions, recordings] = [idsOf('feedback'), idsOf('conversation'), idsOf('recording')]
  const [texts, messages, utterances, ...signals] = await Promise.all([
    records.length === 0 ? [] : quotes.feedbackTexts(reads, organizationId, records),
    sessions.length === 0 ? [] : quotes.messagesOf(reads, organizationId, sessions, personIds),
    recordings.length === 0 ? [] : quotes.utterancesOf(reads, organizationId, recordings, personIds),
    sessions.length === 0 ? [] : quotes.signalsOf(reads, organizationId, sessions, personIds),
    records.length === 0 ? [] : quotes.signalsOfFeedback(reads, organizationId, records),
    recordings.length === 0 ? [] : quotes.signalsOfRecordings(reads, organizationId, recordings, personIds),
  ])
  const passages = new Map<string, readonly Passage[]>([
    ...texts.map(({ id, text }) => [`feedback ${id}`, passageOf(text ?? '')] as const),
    ...[...Map.groupBy(messages, ({ sessionId }) => sessionId)].map(
      ([id, own]) => [`conversation ${id}`, own.flatMap(ofMessage)] as const,
    ),
    ...[...Map.groupBy(utterances, ({ recordingId }) => recordingId)].map(
      ([id, own]) =>
        [`recording ${id}`, own.flatMap(({ text, startSec }) => passageOf(text, { startSec }))] as const,
    ),
  ])
  const bySubject = Map.groupBy(signals.flat(), ({ subject }) => subject)
  return rows.map((row) =>
    entryOf(row, passages.get(`${row.channel} ${row.id}`) ?? [], bySubject.get(row.id) ?? []),
  )
}

function ofMessage({ content, externalEventId, occurredAt }: quotes.MessageRow): readonly Passage[] {
  return passageOf(textOf(content), { messageId: externalEventId, occurredAt })
}

function passageOf(text: string, where: Partial<Passage> = {}): readonly Passage[] {
  const excerpt = excerptOf(text, [], EXCERPT)
  return excerpt === ''
    ? []
    : [{ messageId: null, startSec: null, occurredAt: null, ...where, text: excerpt }]
}

function entryOf(
  { summary, ...row }: Row,
  passages: readonly Passage[],
  signals: readonly quotes.TimelineSignal[],
): TimelineEntry {
  const [first] = passages
  return {
    ...row,
    text: first?.text ?? (summary === null ? null : excerptOf(summary, [], EXCERPT)),
    startSec: first?.startSec ?? null,
    said: passages,
    signals: signals.map(({ subject: _, ...signal }) => signal),
  }
}
