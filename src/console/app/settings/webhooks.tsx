/** Where the organization's events are sent. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { pageOf } from '../address.ts'
import { api, contentOf, type Schemas } from '../api.ts'
import { usePages } from '../load.ts'
import { Opens, SecretDialog } from '../parts/dialogs.tsx'
import { List } from '../parts/list.tsx'
import { Time, Title } from '../parts/small.tsx'
import { slice } from './parts.tsx'
import { WebhookForm } from './webhook-form.tsx'

const WEBHOOKS = '/v3/rest/webhooks'

export function Webhooks() {
  const { route } = useLocation()
  const [created, setCreated] = useState<Schemas['WebhookWithSecret'] | null>(null)
  const pages = usePages('webhooks', (cursor, signal) =>
    contentOf(api.GET(WEBHOOKS, { params: { query: slice(cursor) }, signal })),
  )
  return (
    <>
      <Title text="Webhooks">
        <Opens
          label="New webhook"
          dialog={(close) => (
            <WebhookForm
              title="New webhook"
              submit="Create"
              onClose={close}
              onSubmit={async (body) => {
                const webhook = await contentOf(api.POST(WEBHOOKS, { body }))
                return () => setCreated(webhook)
              }}
            />
          )}
        />
      </Title>
      {created === null ? null : (
        <SecretDialog
          title="The secret of the webhook"
          secret={created.secret}
          onClose={() => route(pageOf(`/settings/webhooks/${created.id}`))}
        >
          <p class="quiet">Your server verifies signatures with it.</p>
        </SecretDialog>
      )}
      <List
        label="Webhooks"
        pages={pages}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => pageOf(`/settings/webhooks/${id}`)}
        row={(webhook) => (
          <>
            <span class="main">{hostOf(webhook.url)}</span>
            <span class="quiet">{webhook.description ?? webhook.types.join(', ')}</span>
            <span class="tags">
              <State webhook={webhook} />
            </span>
            <Time at={webhook.createdAt} />
          </>
        )}
        empty={
          <div class="note">
            <h2>No webhook yet</h2>
            <p>A webhook sends events to your server as they happen, such as new findings.</p>
          </div>
        }
      />
    </>
  )
}

/** A URL may hold a key in its query, which a list need not show. */
function hostOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}

const REASONS = {
  request: 'Switched off',
  gone: 'Switched off: the receiver answered 410',
  failing: 'Switched off: nothing but failures for five days',
} as const

export function State({ webhook }: { readonly webhook: Schemas['Webhook'] }) {
  if (!webhook.enabled) return <span class="tag error">✕ {REASONS[webhook.disabledReason ?? 'request']}</span>
  return webhook.failingSince === null ? (
    <span class="tag positive">✓ On</span>
  ) : (
    <span class="tag error">
      ✕ Failing since <Time at={webhook.failingSince} />
    </span>
  )
}
