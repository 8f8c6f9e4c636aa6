/** What was sent to a webhook, with each attempt and its answer. */
import { useEffect, useState } from 'preact/hooks'
import { useFilters } from '../address.ts'
import { api, contentOf, type Schemas } from '../api.ts'
import { useLoaded, usePages } from '../load.ts'
import { Failure, useAct } from '../parts/act.tsx'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Select, Tag, Time } from '../parts/small.tsx'
import { Row, Rows, slice } from './parts.tsx'

const DELIVERIES = '/v3/rest/webhooks/{webhookId}/deliveries'
const DELIVERY = '/v3/rest/webhooks/{webhookId}/deliveries/{deliveryId}'
const STATES = ['pending', 'retrying', 'delivered', 'failed'] as const
const TONES = { pending: 'neutral', retrying: 'negative', delivered: 'positive', failed: 'negative' } as const

/** A test is sent within a second or so; an answer may take 15 seconds. */
const LOOK_MS = 2_000
const LOOKS = 10

/** @param round rises when something was sent: the list then looks several times */
export function Deliveries({ id, round }: { readonly id: string; readonly round: number }) {
  const filters = useFilters()
  const [looks, setLooks] = useState(0)
  const [again, setAgain] = useState(0)
  useEffect(() => {
    if (round + again === 0) return
    let left = LOOKS
    setLooks((before) => before + 1)
    const timer = setInterval(() => {
      setLooks((before) => before + 1)
      left--
      if (left === 0) clearInterval(timer)
    }, LOOK_MS)
    return () => clearInterval(timer)
  }, [round, again])
  const status = STATES.find((one) => one === filters.get('status'))
  const pages = usePages(
    `deliveries ${id} ${status}`,
    (cursor, signal) =>
      contentOf(
        api.GET(DELIVERIES, {
          params: {
            path: { webhookId: id },
            query: { ...slice(cursor, 20), ...(status === undefined ? {} : { status }) },
          },
          signal,
        }),
      ),
    looks,
  )
  return (
    <section aria-labelledby="deliveries">
      <h2 id="deliveries">Deliveries</h2>
      <Select
        label="Status"
        value={status ?? ''}
        options={STATES}
        onChange={(value) => filters.set('status', value)}
      />
      <Rows
        label="Deliveries"
        pages={pages}
        keyOf={(one) => one.id}
        row={(delivery) => (
          <Delivery webhookId={id} delivery={delivery} onSent={() => setAgain((before) => before + 1)} />
        )}
        empty={<p>Nothing was sent yet. Send a test.</p>}
      />
    </section>
  )
}

function Delivery(props: {
  readonly webhookId: string
  readonly delivery: Schemas['WebhookDelivery']
  readonly onSent: () => void
}) {
  const { id, type, status, attempts, createdAt, nextAttemptAt, updatedAt } = props.delivery
  const [isOpen, setOpen] = useState(false)
  const { problem, isBusy, act } = useAct()
  const params = { path: { webhookId: props.webhookId, deliveryId: id } }
  return (
    <>
      <Row
        main={type}
        note={
          <>
            <Time at={createdAt} />, {attempts === 1 ? '1 attempt' : `${attempts} attempts`}
            {nextAttemptAt === null ? null : (
              <>
                , next <Time at={nextAttemptAt} />
              </>
            )}
          </>
        }
      >
        <Tag value={status} tone={TONES[status]} />
        <button
          type="button"
          aria-expanded={isOpen}
          aria-label={`Attempts of ${type}`}
          onClick={() => setOpen(!isOpen)}
        >
          Attempts
        </button>
        {status === 'delivered' || status === 'failed' ? (
          <button
            type="button"
            disabled={isBusy}
            aria-label={`Send again: ${type}`}
            onClick={() =>
              void act(() => contentOf(api.POST(`${DELIVERY}/redeliver`, { params }))).then(
                (isDone) => isDone && props.onSent(),
              )
            }
          >
            Send again
          </button>
        ) : null}
      </Row>
      <Failure problem={problem} />
      {isOpen ? <Attempts key={updatedAt} params={params} version={`${id} ${updatedAt}`} /> : null}
    </>
  )
}

interface AttemptsProps {
  readonly params: { readonly path: { readonly webhookId: string; readonly deliveryId: string } }
  readonly version: string
}

function Attempts({ params, version }: AttemptsProps) {
  const loaded = useLoaded(version, (signal) => contentOf(api.GET(DELIVERY, { params, signal })))
  if (loaded.data === null)
    return loaded.state === 'failed' ? <ErrorNote problem={loaded.problem} /> : <Loading />
  if (loaded.data.log.length === 0) return <p class="quiet">No attempt was made yet.</p>
  return (
    <ol class="attempts">
      {loaded.data.log.map(({ number, startedAt, durationMs, status, error, body, manual }) => (
        <li key={number}>
          <p>
            {status === null ? (error ?? 'No answer') : `Answer ${status}`} <Time at={startedAt} />
            <span class="quiet">
              {' '}
              after {durationMs} ms{manual ? ', asked for' : ''}
            </span>
          </p>
          {body === null || body === '' ? null : <p class="wrapped quiet">{body}</p>}
        </li>
      ))}
    </ol>
  )
}
