/** The list of conversations, newest activity first. */
import { pageOf, useFilters } from '../address.ts'
import { api, contentOf, type Schemas } from '../api.ts'
import { useLive } from '../live.ts'
import { usePages } from '../load.ts'
import { List } from '../parts/list.tsx'
import { DemoHint, Empty, FirstConversation } from '../parts/notes.tsx'
import { boundsOf, PeriodNote } from '../parts/period-note.tsx'
import { Select, Tag, Time, Title, Unread } from '../parts/small.tsx'

type Session = Schemas['AgentSession']

const STATUSES = ['open', 'ended', 'abandoned'] as const
const OUTCOMES = ['resolved', 'unresolved', 'unclear'] as const

/** Who spoke with the agent, as far as the sender said it. */
export function speakerOf({
  participants,
  externalSessionId,
}: Pick<Session, 'participants' | 'externalSessionId'>): string {
  const customer = participants.find(({ boundary }) => boundary === 'external') ?? participants[0]
  return customer?.displayName ?? customer?.email ?? customer?.username ?? externalSessionId
}

export function Conversations() {
  const filters = useFilters()
  const status = STATUSES.find((one) => one === filters.get('status'))
  const environment = filters.get('environment')
  const outcome = OUTCOMES.find((one) => one === filters.get('outcome'))
  const bounds = boundsOf(filters)
  const pages = usePages(
    filters.key,
    (cursor, signal) =>
      contentOf(
        api.GET('/v3/rest/agent-conversations/sessions', {
          params: {
            query: {
              limit: 50,
              ...(cursor === undefined ? {} : { cursor }),
              ...(status === undefined ? {} : { status }),
              ...(environment === '' ? {} : { environment }),
              ...(outcome === undefined ? {} : { outcome }),
              ...bounds,
            },
          },
          signal,
        }),
      ),
    useLive('conversations'),
  )
  return (
    <>
      <Title text="Conversations">
        <Select
          label="Status"
          value={status ?? ''}
          options={STATUSES}
          onChange={(value) => filters.set('status', value)}
        />
        <Select
          label="Outcome"
          value={outcome ?? ''}
          options={OUTCOMES}
          onChange={(value) => filters.set('outcome', value)}
        />
      </Title>
      <PeriodNote filters={filters} />
      <List
        label="Conversations"
        pages={pages}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => pageOf(`/conversations/${id}`)}
        row={(session) => (
          <>
            <span class="main" dir="auto">
              {speakerOf(session)}
            </span>
            <span class="quiet" dir="auto">
              {session.agentKey}
              {session.context?.productArea === undefined ? '' : ` · ${session.context.productArea}`}
            </span>
            <span class="tags">
              {session.outcome === null ? null : <Tag value={session.outcome} />}
              {session.sentiment === null ? null : <Tag value={session.sentiment} />}
              <Unread analysis={session.analysis} />
            </span>
            <Time at={session.startedAt} />
          </>
        )}
        empty={
          filters.hasAny('status', 'environment', 'outcome', 'since', 'until') ? (
            <Empty title="No conversation like this" />
          ) : (
            <Empty title="No conversation yet">
              <FirstConversation />
              <DemoHint />
            </Empty>
          )
        }
      />
    </>
  )
}
