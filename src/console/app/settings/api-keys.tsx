/** The keys of the organization, with which programs do everything. */
import { useState } from 'preact/hooks'
import { api, contentOf, type Schemas } from '../api.ts'
import { usePages } from '../load.ts'
import { Confirmed, FormDialog, Opens, SecretDialog } from '../parts/dialogs.tsx'
import { Tag, Time, Title } from '../parts/small.tsx'
import { Field, LastUsed, Row, Rows, slice } from './parts.tsx'

const KEYS = '/v3/rest/api-keys'
const KEY = '/v3/rest/api-keys/{apiKeyId}'

export function ApiKeys() {
  const [round, setRound] = useState(0)
  const [created, setCreated] = useState<string | null>(null)
  const reload = () => setRound((before) => before + 1)
  const pages = usePages(`api keys ${round}`, (cursor, signal) =>
    contentOf(api.GET(KEYS, { params: { query: slice(cursor) }, signal })),
  )
  return (
    <>
      <Title text="API keys">
        <Opens
          label="New key"
          dialog={(close) => (
            <FormDialog
              title="New API key"
              submit="Create"
              onClose={close}
              onSubmit={async ({ text }) => {
                const { apiKey } = await contentOf(api.POST(KEYS, { body: { name: text('name') } }))
                reload()
                return () => setCreated(apiKey)
              }}
            >
              <p>With the key, a program may do everything that an administrator may.</p>
              <NameField />
            </FormDialog>
          )}
        />
      </Title>
      {created === null ? null : (
        <SecretDialog title="The new key" secret={created} onClose={() => setCreated(null)}>
          <p class="quiet">
            Programs send it as <code>X-Service-Api-Key</code>. Never use it in a browser.
          </p>
        </SecretDialog>
      )}
      <Rows
        label="API keys"
        pages={pages}
        keyOf={({ id }) => id}
        row={(key) => <KeyRow apiKey={key} onChanged={reload} />}
        empty={<p>No key yet. Programs that send feedback or read over the API need one.</p>}
      />
    </>
  )
}

const NameField = ({ value = '' }: { readonly value?: string }) => (
  <Field label="Name" hint="What the key is for.">
    <input name="name" required maxLength={255} defaultValue={value} autocomplete="off" />
  </Field>
)

function KeyRow({
  apiKey,
  onChanged,
}: {
  readonly apiKey: Schemas['ApiKey']
  readonly onChanged: () => void
}) {
  const { id, name, prefix, createdAt, lastUsedAt, revokedAt } = apiKey
  const params = { path: { apiKeyId: id } }
  return (
    <Row
      main={name}
      note={
        <>
          <code>{prefix}…</code> created <Time at={createdAt} />, <LastUsed at={lastUsedAt} />
        </>
      }
    >
      {revokedAt !== null ? (
        <Tag value="revoked" />
      ) : (
        <>
          <Opens
            label="Rename"
            name={`Rename ${name}`}
            dialog={(close) => (
              <FormDialog
                title="Rename the key"
                submit="Save"
                onClose={close}
                onSubmit={async ({ text }) => {
                  await contentOf(api.PATCH(KEY, { params, body: { name: text('name') } }))
                  onChanged()
                }}
              >
                <NameField value={name} />
              </FormDialog>
            )}
          />
          <Confirmed
            label="Revoke"
            name={`Revoke ${name}`}
            title={`Revoke ${name}?`}
            act={async () => {
              await contentOf(api.DELETE(KEY, { params }))
              onChanged()
            }}
          >
            <p>Programs with this key are refused at once. This cannot be taken back.</p>
          </Confirmed>
        </>
      )}
    </Row>
  )
}
