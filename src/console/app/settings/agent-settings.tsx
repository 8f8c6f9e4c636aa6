/** What is kept of the conversations of an agent, for how long, and who may read them. */
import { useState } from 'preact/hooks'
import { pageOf } from '../address.ts'
import { api, contentOf, type Schemas } from '../api.ts'
import { Failure, useAct } from '../parts/act.tsx'
import { type Fields, fieldsOf } from '../parts/dialogs.tsx'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { nameOf, useAllMembers } from './all-of.ts'
import { Check, Field } from './parts.tsx'

type Agent = Schemas['AgentApplication']
type Change = Schemas['AgentSettingsChange']

interface Props {
  readonly agent: Agent
  readonly onChanged: (agent: Agent) => void
}

export function AgentSettings({ agent, onChanged }: Props) {
  const { settings } = agent
  const { problem, isBusy, act } = useAct()
  const [access, setAccess] = useState(settings.conversationAccess.type)
  const save = (fields: Fields) =>
    act(async () => {
      const params = { path: { applicationId: agent.id } }
      const body = { settings: changeOf(fields) }
      onChanged(await contentOf(api.PATCH('/v3/rest/agent-applications/{applicationId}', { params, body })))
    })
  return (
    <section aria-labelledby="kept">
      <h2 id="kept">What is kept</h2>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void save(fieldsOf(event.currentTarget))
        }}
      >
        <Check
          label="Keep what people and the agent write"
          name="captureContent"
          isChecked={settings.captureContent}
        />
        <Field label="Delete conversations after days" hint="Empty: never. 1 to 3650.">
          <input
            name="retentionDays"
            type="number"
            min={1}
            max={3650}
            defaultValue={settings.retentionDays === null ? '' : String(settings.retentionDays)}
          />
        </Field>
        <Field label="Environments that may send" hint="One in each line. Empty: all.">
          <textarea
            name="allowedEnvironments"
            rows={2}
            defaultValue={settings.allowedEnvironments.join('\n')}
          />
        </Field>
        <Field
          label="Idle seconds until gaps are final"
          hint="Messages that are missing are waited for this long. 60 to 31536000."
        >
          <input
            name="gapTimeoutSeconds"
            type="number"
            required
            min={60}
            max={31_536_000}
            defaultValue={String(settings.gapTimeoutSeconds)}
          />
        </Field>
        <Field label="Who may read the conversations">
          <select
            name="access"
            value={access}
            onChange={(event) => setAccess(event.currentTarget.value as typeof access)}
          >
            <option value="workspace">Everybody of the organization</option>
            <option value="restricted">Listed users</option>
          </select>
        </Field>
        {access === 'restricted' ? (
          <Users
            chosen={
              settings.conversationAccess.type === 'restricted' ? settings.conversationAccess.userIds : []
            }
          />
        ) : null}
        <Failure problem={problem} />
        <div class="row">
          <button type="submit" disabled={isBusy}>
            Save
          </button>
          <a href={pageOf('/settings/redaction', { agent: agent.id })}>Redaction rules</a>
        </div>
      </form>
      <p class="quiet" role="status">
        {agent.settingsVersion > 1 ? `Version ${agent.settingsVersion} is in force.` : ''}
      </p>
    </section>
  )
}

function Users({ chosen }: { readonly chosen: readonly string[] }) {
  const members = useAllMembers('access')
  if (members.data === null)
    return members.state === 'failed' ? <ErrorNote problem={members.problem} /> : <Loading />
  const known = members.data
  const others = chosen.filter((id) => !known.some((member) => member.id === id))
  return (
    <fieldset class="choices">
      <legend>Users</legend>
      {known.map((member) => (
        <Check
          key={member.id}
          name="userId"
          value={member.id}
          label={nameOf(member)}
          isChecked={chosen.includes(member.id)}
        />
      ))}
      {others.map((id) => (
        <Check key={id} name="userId" value={id} label={id} isChecked />
      ))}
    </fieldset>
  )
}

/** The lines of a text that are not empty. */
export const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

function changeOf({ text, all, isChecked }: Fields): Change {
  const days = text('retentionDays')
  return {
    captureContent: isChecked('captureContent'),
    retentionDays: days === '' ? null : Number(days),
    allowedEnvironments: linesOf(text('allowedEnvironments')),
    gapTimeoutSeconds: Number(text('gapTimeoutSeconds')),
    conversationAccess:
      text('access') === 'restricted'
        ? { type: 'restricted', userIds: [...all('userId')] }
        : { type: 'workspace' },
  }
}
