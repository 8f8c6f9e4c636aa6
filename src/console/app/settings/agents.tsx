/** The agents whose conversations this organization hears. */
import { useLocation } from 'preact-iso'
import { pageOf } from '../address.ts'
import { api, contentOf } from '../api.ts'
import { usePages } from '../load.ts'
import { FormDialog, Opens } from '../parts/dialogs.tsx'
import { List } from '../parts/list.tsx'
import { Time, Title } from '../parts/small.tsx'
import { Field, slice } from './parts.tsx'

export function Agents() {
  const pages = usePages('agents', (cursor, signal) =>
    contentOf(api.GET('/v3/rest/agent-applications', { params: { query: slice(cursor) }, signal })),
  )
  return (
    <>
      <Title text="Agents">
        <Opens label="New agent" dialog={(close) => <NewAgent onClose={close} />} />
      </Title>
      <List
        label="Agents"
        pages={pages}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => pageOf(`/settings/agents/${id}`)}
        row={(agent) => (
          <>
            <span class="main">{agent.name}</span>
            <span class="quiet">{agent.agentKey}</span>
            <span class="tags">
              {agent.settings.captureContent ? null : <span class="tag">Content is not kept</span>}
            </span>
            <Time at={agent.createdAt} />
          </>
        )}
        empty={
          <div class="note">
            <h2>No agent yet</h2>
            <p>
              An agent is a program that talks with your customers. Create one; its page leads to the first
              conversation.
            </p>
          </div>
        }
      />
    </>
  )
}

function NewAgent({ onClose }: { readonly onClose: () => void }) {
  const { route } = useLocation()
  return (
    <FormDialog
      title="New agent"
      submit="Create"
      onClose={onClose}
      onSubmit={async ({ text }) => {
        const body = { agentKey: text('agentKey'), name: text('name') }
        const { id } = await contentOf(api.POST('/v3/rest/agent-applications', { body }))
        route(pageOf(`/settings/agents/${id}`))
      }}
    >
      <Field label="Name">
        <input name="name" required maxLength={255} autocomplete="off" />
      </Field>
      <Field
        label="Key"
        hint="Programs name the agent by it. Letters, digits, dots, underscores and hyphens; it never changes."
      >
        <input
          name="agentKey"
          required
          maxLength={128}
          pattern="[A-Za-z0-9][A-Za-z0-9_.\-]*"
          autocomplete="off"
        />
      </Field>
    </FormDialog>
  )
}
