/** The list of recordings, in the order of the dates that it shows, newest first. */
import { pageOf, useFilters } from '../address.ts'
import { api, contentOf, type Schemas } from '../api.ts'
import { AddCall } from '../call/add-call.tsx'
import { waitWords } from '../call/call-words.ts'
import { useSession } from '../context.ts'
import { useLive } from '../live.ts'
import { usePages } from '../load.ts'
import { List } from '../parts/list.tsx'
import { DemoHint, Empty } from '../parts/notes.tsx'
import { boundsOf, PeriodNote } from '../parts/period-note.tsx'
import { Select, Tag, Time, Title, Unread } from '../parts/small.tsx'
import { EVER } from '../period.ts'
import { clock, createdAtOf } from '../words.ts'

const STATUSES = ['waiting', 'queued', 'processing', 'completed', 'failed'] as const

export function Calls() {
  const filters = useFilters()
  const { membership } = useSession()
  const q = filters.get('q')
  const status = STATUSES.find((one) => one === filters.get('transcript_status'))
  const bounds = boundsOf(filters)
  const pages = usePages(
    filters.key,
    (cursor, signal) =>
      contentOf(
        api.GET('/v3/rest/recordings', {
          params: {
            query: {
              limit: 50,
              ...(cursor === undefined ? {} : { cursor }),
              ...(q === '' ? {} : { q }),
              ...(status === undefined ? {} : { transcript_status: status }),
              // A list with a period is ordered by when a call began, others by when it was stored.
              since: EVER,
              ...bounds,
            },
          },
          signal,
        }),
      ),
    useLive('calls'),
  )
  return (
    <>
      <Title text="Calls">
        <Select
          label="Transcript"
          value={status ?? ''}
          options={STATUSES}
          onChange={(value) => filters.set('transcript_status', value)}
        />
      </Title>
      <PeriodNote filters={filters} />
      {membership?.role === 'viewer' ? null : <AddCall />}
      <List
        label="Calls"
        pages={pages}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => pageOf(`/calls/${id}`)}
        row={(call) => (
          <>
            <span class="main" dir="auto">
              {call.display_name ?? 'Unnamed call'}
            </span>
            <span class="quiet clip" dir="auto">
              {call.summary}
            </span>
            <span class="tags">
              {call.transcript_status === 'completed' ? null : (
                <Tag value={waitWords(call)} tone={call.transcript_status} />
              )}
              {call.transcript_status === 'completed' ? <Unread analysis={call.analysis} /> : null}
              {call.asset_duration_seconds === null ? null : (
                <span class="quiet">{clock(call.asset_duration_seconds)}</span>
              )}
            </span>
            <CallTime call={call} />
          </>
        )}
        empty={
          filters.hasAny('q', 'transcript_status', 'since', 'until') ? (
            <Empty title="No call like this" />
          ) : (
            <Empty title="No call yet">
              <p>Open “Add a call” above: drop a recording there, or have a meeting joined.</p>
              <DemoHint />
            </Empty>
          )
        }
      />
    </>
  )
}

/** When the call began; without a known start, when it was created. */
function CallTime({ call: { id, started_at } }: { readonly call: Schemas['RecordingItem'] }) {
  const at = started_at ?? createdAtOf(id)
  return at === null ? <span /> : <Time at={at} />
}
