/** One webhook: what it is, a test, its secret, and what was delivered. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { pageOf } from '../address.ts'
import { api, contentOf, type Schemas } from '../api.ts'
import { useLoaded } from '../load.ts'
import { Failure, useAct } from '../parts/act.tsx'
import { Confirmed, Opens, SecretDialog } from '../parts/dialogs.tsx'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Time, Title } from '../parts/small.tsx'
import { dateTime } from '../words.ts'
import { Deliveries } from './webhook-deliveries.tsx'
import { WebhookForm } from './webhook-form.tsx'
import { State } from './webhooks.tsx'

type Hook = Schemas['Webhook']

const WEBHOOK = '/v3/rest/webhooks/{webhookId}'

export function Webhook({ id }: { readonly id: string }) {
  const params = { path: { webhookId: id } }
  const [changed, setChanged] = useState<Hook | null>(null)
  const [round, setRound] = useState(0)
  const { problem, isBusy, act } = useAct()
  const loaded = useLoaded(`webhook ${id}`, (signal) => contentOf(api.GET(WEBHOOK, { params, signal })))
  const webhook = changed?.id === id ? changed : loaded.data
  if (webhook === null || webhook.id !== id)
    return loaded.state === 'failed' ? <ErrorNote problem={loaded.problem} /> : <Loading />
  const change = async (body: Schemas['UpdateWebhookRequest']) =>
    setChanged(await contentOf(api.PATCH(WEBHOOK, { params, body })))
  const attempted = () => setRound((before) => before + 1)
  return (
    <>
      <p>
        <a href={pageOf('/settings/webhooks')}>Webhooks</a>
      </p>
      <Title text={webhook.description ?? 'Webhook'}>
        <State webhook={webhook} />
      </Title>
      <dl class="facts">
        <div>
          <dt>URL</dt>
          <dd class="wrapped">{webhook.url}</dd>
        </div>
        <div>
          <dt>Events</dt>
          <dd class="wrapped">{webhook.types.includes('*') ? 'All' : webhook.types.join(', ')}</dd>
        </div>
        <div>
          <dt>Order</dt>
          <dd>{webhook.ordering}</dd>
        </div>
        <div>
          <dt>Created</dt>
          <dd>
            <Time at={webhook.createdAt} />
          </dd>
        </div>
      </dl>
      <div class="row">
        <button
          type="button"
          disabled={isBusy}
          onClick={() => void act(() => contentOf(api.POST(`${WEBHOOK}/ping`, { params }))).then(attempted)}
        >
          Send a test
        </button>
        <Opens
          label="Change"
          dialog={(close) => (
            <WebhookForm
              title="Change the webhook"
              submit="Save"
              webhook={webhook}
              onClose={close}
              onSubmit={change}
            />
          )}
        />
        <button
          type="button"
          disabled={isBusy}
          onClick={() => void act(() => change({ enabled: !webhook.enabled }))}
        >
          {webhook.enabled ? 'Switch off' : 'Switch on'}
        </button>
        <Rotate id={id} />
        <Delete id={id} />
      </div>
      <Failure problem={problem} />
      {webhook.recoverableSince === null ? null : (
        <Recover id={id} since={webhook.recoverableSince} onStarted={attempted} />
      )}
      <Deliveries id={id} round={round} />
    </>
  )
}

function Rotate({ id }: { readonly id: string }) {
  const [secret, setSecret] = useState<Schemas['WebhookSecret'] | null>(null)
  return (
    <>
      <Confirmed
        label="New secret"
        title="Replace the secret?"
        act={async () => {
          const params = { path: { webhookId: id } }
          const replaced = await contentOf(api.POST(`${WEBHOOK}/secret`, { params }))
          return () => setSecret(replaced)
        }}
      >
        <p>For 24 hours both secrets sign, so that your server can change over.</p>
      </Confirmed>
      {secret === null ? null : (
        <SecretDialog title="The new secret" secret={secret.secret} onClose={() => setSecret(null)}>
          <p class="quiet">The old one signs until {dateTime(secret.previousValidUntil)}.</p>
        </SecretDialog>
      )}
    </>
  )
}

function Delete({ id }: { readonly id: string }) {
  const { route } = useLocation()
  return (
    <Confirmed
      label="Delete"
      title="Delete the webhook?"
      act={async () => {
        await contentOf(api.DELETE(WEBHOOK, { params: { path: { webhookId: id } } }))
        route(pageOf('/settings/webhooks'))
      }}
    >
      <p>Its log of deliveries goes, too. What waits is not sent any more.</p>
    </Confirmed>
  )
}

function Recover(props: { readonly id: string; readonly since: string; readonly onStarted: () => void }) {
  const { problem, isBusy, act } = useAct()
  const [isStarted, setStarted] = useState(false)
  if (isStarted) return <p role="status">What was missed is being sent in order.</p>
  const recover = () =>
    act(() =>
      contentOf(
        api.POST(`${WEBHOOK}/recover`, {
          params: { path: { webhookId: props.id } },
          body: { since: props.since },
        }),
      ),
    )
  return (
    <div class="note">
      <p>
        Events since {dateTime(props.since)} may be missing at the receiver.{' '}
        <button
          type="button"
          disabled={isBusy}
          onClick={() =>
            void recover().then((isDone) => {
              if (!isDone) return
              setStarted(true)
              props.onStarted()
            })
          }
        >
          Send them
        </button>
      </p>
      <Failure problem={problem} />
    </div>
  )
}
