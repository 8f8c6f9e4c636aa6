/** Who read or changed what. */
import { useFilters } from '../address.ts'
import { api, contentOf, type Schemas } from '../api.ts'
import { usePages } from '../load.ts'
import { Time, Title } from '../parts/small.tsx'
import { useAllMembers } from './all-of.ts'
import { Row, Rows, slice } from './parts.tsx'

type Entry = Schemas['AuditEntry']

const DETAILS_SHOWN = 300

export function Audit() {
  const filters = useFilters()
  const [objectId, since, principalId] = ['object', 'since', 'by'].map(filters.get)
  const known = useAllMembers('audit').data ?? []
  const pages = usePages(filters.key, (cursor, signal) =>
    contentOf(
      api.GET('/v3/rest/audit', {
        params: {
          query: {
            ...slice(cursor),
            ...(objectId ? { objectId } : {}),
            ...(principalId ? { principalId } : {}),
            ...(since ? { since: new Date(`${since}T00:00:00`).toISOString() } : {}),
          },
        },
        signal,
      }),
    ),
  )
  return (
    <>
      <Title text="Audit">
        <label class="filter">
          <span>By</span>
          <select value={principalId} onChange={(event) => filters.set('by', event.currentTarget.value)}>
            <option value="">Everybody</option>
            {known.map(({ id, email }) => (
              <option key={id} value={id}>
                {email}
              </option>
            ))}
          </select>
        </label>
        <label class="filter">
          <span>Since</span>
          <input
            type="date"
            value={since}
            onChange={(event) => filters.set('since', event.currentTarget.value)}
          />
        </label>
        <label class="filter">
          <span>Id of the object</span>
          <input
            value={objectId}
            maxLength={255}
            onChange={(event) => filters.set('object', event.currentTarget.value.trim())}
          />
        </label>
      </Title>
      <Rows
        label="Entries"
        pages={pages}
        keyOf={({ id }) => id}
        row={(entry) => (
          <Row
            main={entry.action}
            note={
              <>
                {whoOf(entry, known)}
                {entry.object.id === null ? '' : `, ${entry.object.kind} ${entry.object.id}`}
                {entry.times === 1 ? '' : `, ${entry.times} times`}
                {detailsOf(entry)}
              </>
            }
          >
            <Time at={entry.occurredAt} />
          </Row>
        )}
        empty={<p>No entry with these filters.</p>}
      />
    </>
  )
}

const KINDS = { user: 'user', api_key: 'API key', operator: 'operator, by a command' } as const

function whoOf({ principal: { kind, id } }: Entry, members: readonly Schemas['Member'][]): string {
  const member = members.find((one) => one.id === id)
  return member?.email ?? (id === null ? KINDS[kind] : `${KINDS[kind]} ${id}`)
}

function detailsOf({ details }: Entry): string {
  if (Object.keys(details).length === 0) return ''
  return `, ${JSON.stringify(details).slice(0, DETAILS_SHOWN)}`
}
