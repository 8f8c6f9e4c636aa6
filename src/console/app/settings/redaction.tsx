/** The redaction rules of an agent, with a text to try them on before they are saved. */
import { useState } from 'preact/hooks'
import { pageOf, useFilters } from '../address.ts'
import { api, contentOf, type Schemas } from '../api.ts'
import { useLoaded } from '../load.ts'
import { NotFound } from '../pages/not-found.tsx'
import { Failure, useAct } from '../parts/act.tsx'
import { fieldsOf } from '../parts/dialogs.tsx'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Title } from '../parts/small.tsx'
import { linesOf } from './agent-settings.tsx'
import { allOf, PAGE_ROWS } from './all-of.ts'
import { Field, slice } from './parts.tsx'

type Agent = Schemas['AgentApplication']

/** Characters that the service redacts on trial. */
const MAX_TEXT = 20_000

export function Redaction() {
  const filters = useFilters()
  const [round, setRound] = useState(0)
  const loaded = useLoaded(`agents for redaction ${round}`, (signal) =>
    allOf((cursor) => {
      const query = slice(cursor, PAGE_ROWS)
      return contentOf(api.GET('/v3/rest/agent-applications', { params: { query }, signal }))
    }),
  )
  if (loaded.data === null)
    return loaded.state === 'failed' ? <ErrorNote problem={loaded.problem} /> : <Loading />
  const agents = loaded.data
  const wanted = filters.get('agent')
  // Another agent's rules must not be edited by mistake.
  const agent = wanted === '' ? agents[0] : agents.find(({ id }) => id === wanted)
  if (agent === undefined && agents.length > 0) return <NotFound />
  if (agent === undefined)
    return (
      <>
        <Title text="Redaction" />
        <div class="note">
          <h2>No agent yet</h2>
          <p>
            Redaction rules belong to an agent. <a href={pageOf('/settings/agents')}>Create one</a> first.
          </p>
        </div>
      </>
    )
  return (
    <>
      <Title text="Redaction">
        <label class="filter">
          <span>Agent</span>
          <select value={agent.id} onChange={(event) => filters.set('agent', event.currentTarget.value)}>
            {agents.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </Title>
      <Rules key={agent.id} agent={agent} onSaved={() => setRound((before) => before + 1)} />
    </>
  )
}

function Rules({ agent, onSaved }: { readonly agent: Agent; readonly onSaved: () => void }) {
  const { settings } = agent
  const [fields, setFields] = useState(settings.redactedFields.join('\n'))
  const [patterns, setPatterns] = useState(settings.redactedPatterns.join('\n'))
  const [said, setSaid] = useState('')
  const { problem, isBusy, act } = useAct()
  const rules = { redactedFields: linesOf(fields), redactedPatterns: linesOf(patterns) }
  const save = () =>
    act(async () => {
      const params = { path: { applicationId: agent.id } }
      const body = { settings: rules }
      setSaid('')
      const { settingsVersion } = await contentOf(
        api.PATCH('/v3/rest/agent-applications/{applicationId}', { params, body }),
      )
      setSaid(`Saved. Version ${settingsVersion} holds for what arrives from now on.`)
      onSaved()
    })
  return (
    <>
      <p>
        What matches is replaced by [redacted] before anything is stored. What is stored already stays as it
        is.
      </p>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <Field label="Field names" hint="One per line, such as password. Their values are redacted.">
          <textarea rows={4} value={fields} onInput={(event) => setFields(event.currentTarget.value)} />
        </Field>
        <Field label="Patterns" hint="One RE2 pattern in each line. Every match in any text is redacted.">
          <textarea
            class="code"
            rows={4}
            value={patterns}
            onInput={(event) => setPatterns(event.currentTarget.value)}
          />
        </Field>
        <Failure problem={problem} />
        <div class="row">
          <button type="submit" disabled={isBusy}>
            Save
          </button>
        </div>
        <p class="quiet" role="status">
          {said}
        </p>
      </form>
      <Try rules={rules} />
    </>
  )
}

interface TryProps {
  readonly rules: { readonly redactedFields: string[]; readonly redactedPatterns: string[] }
}

/** The text goes to the service and back. Nothing of it is stored. */
function Try({ rules }: TryProps) {
  const [result, setResult] = useState<string | null>(null)
  const { problem, isBusy, act } = useAct()
  return (
    <section aria-labelledby="try">
      <h2 id="try">Try the rules</h2>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          const text = fieldsOf(event.currentTarget).text('text')
          void act(async () => {
            setResult(null)
            const body = { ...rules, text }
            setResult((await contentOf(api.POST('/v3/rest/redaction/preview', { body }))).text)
          })
        }}
      >
        <Field
          label="Text"
          hint={`A message, or JSON. It is not stored. At most ${MAX_TEXT.toLocaleString('en')} characters.`}
        >
          <textarea name="text" rows={4} required maxLength={MAX_TEXT} />
        </Field>
        <Failure problem={problem} />
        <div class="row">
          <button type="submit" disabled={isBusy}>
            Try
          </button>
        </div>
      </form>
      <div role="status">
        {result === null ? null : (
          <>
            <h3>It would be stored as</h3>
            <p class="wrapped">{result}</p>
          </>
        )}
      </div>
    </section>
  )
}
