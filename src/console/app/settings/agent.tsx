/** One agent: its first conversation, its secrets, what is kept of its conversations, and its usage. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { pageOf } from '../address.ts'
import { api, contentOf, type Schemas } from '../api.ts'
import { useLoaded } from '../load.ts'
import { Confirmed, FormDialog, Opens } from '../parts/dialogs.tsx'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Title } from '../parts/small.tsx'
import { number } from '../words.ts'
import { Secrets } from './agent-secrets.tsx'
import { AgentSettings } from './agent-settings.tsx'
import { Field } from './parts.tsx'

const AGENT = '/v3/rest/agent-applications/{applicationId}'

export function Agent({ id }: { readonly id: string }) {
  const params = { path: { applicationId: id } }
  const [changed, setChanged] = useState<Schemas['AgentApplication'] | null>(null)
  const loaded = useLoaded(`agent ${id}`, (signal) => contentOf(api.GET(AGENT, { params, signal })))
  const agent = changed?.id === id ? changed : loaded.data
  if (agent === null || agent.id !== id)
    return loaded.state === 'failed' ? <ErrorNote problem={loaded.problem} /> : <Loading />
  return (
    <>
      <p>
        <a href={pageOf('/settings/agents')}>Agents</a>
      </p>
      <Title text={agent.name}>
        <Opens
          label="Rename"
          dialog={(close) => (
            <FormDialog
              title="Rename the agent"
              submit="Save"
              onClose={close}
              onSubmit={async ({ text }) =>
                setChanged(await contentOf(api.PATCH(AGENT, { params, body: { name: text('name') } })))
              }
            >
              <Field label="Name">
                <input name="name" required maxLength={255} defaultValue={agent.name} autocomplete="off" />
              </Field>
            </FormDialog>
          )}
        />
        <Delete agent={agent} />
      </Title>
      <p class="quiet">
        Key <code>{agent.agentKey}</code>, version {agent.settingsVersion} of the settings
      </p>
      <Secrets key={id} agent={agent} />
      <AgentSettings key={`${id} ${agent.settingsVersion}`} agent={agent} onChanged={setChanged} />
      <Usage id={id} />
    </>
  )
}

function Delete({ agent }: { readonly agent: Schemas['AgentApplication'] }) {
  const { route } = useLocation()
  return (
    <Confirmed
      label="Delete"
      title={`Delete ${agent.name}?`}
      act={async () => {
        await contentOf(api.DELETE(AGENT, { params: { path: { applicationId: agent.id } } }))
        route(pageOf('/settings/agents'))
      }}
    >
      <p>
        Its settings and secrets go, and programs with these secrets are refused at once. An agent with
        conversations is not deleted.
      </p>
    </Confirmed>
  )
}

function Usage({ id }: { readonly id: string }) {
  const usage = useLoaded(`usage ${id}`, (signal) =>
    contentOf(api.GET(`${AGENT}/usage`, { params: { path: { applicationId: id } }, signal })),
  )
  return (
    <section aria-labelledby="usage">
      <h2 id="usage">Usage</h2>
      {usage.data === null ? (
        usage.state === 'failed' ? (
          <ErrorNote problem={usage.problem} />
        ) : (
          <Loading />
        )
      ) : (
        <p>{number(usage.data.total)} responses were metered in the last 30 days.</p>
      )}
    </section>
  )
}
