/** What the service runs on, at the top of the health page. */
import { api, contentOf, type Schemas } from '../api.ts'
import { useLoaded } from '../load.ts'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Tag, Time } from '../parts/small.tsx'
import { labelOf } from '../words.ts'

type State = Schemas['ServiceState']

export function ServiceState() {
  const loaded = useLoaded('service', (signal) => contentOf(api.GET('/v3/rest/service', { signal })))
  const { data } = loaded
  return (
    <section aria-labelledby="service">
      <h2 id="service">Service</h2>
      {loaded.state === 'failed' ? <ErrorNote problem={loaded.problem} /> : null}
      {data === null ? loaded.state === 'loading' ? <Loading /> : null : <Facts state={data} />}
    </section>
  )
}

function Facts({ state }: { readonly state: State }) {
  const { version, workers, waiting, dueSince, deadLetters, parts } = state
  return (
    <>
      <dl class="facts">
        <dt>Workers</dt>
        <dd>{workers === 0 ? <Tag value="none_active" tone="negative" /> : workers}</dd>
        <dt>Waiting</dt>
        <dd>
          {counted(waiting)}
          {dueSince === null ? null : (
            <>
              , due <Time at={dueSince} />
            </>
          )}
        </dd>
        <dt>Failed for good</dt>
        <dd>{counted(deadLetters)}</dd>
        <dt>Version</dt>
        <dd>{version}</dd>
      </dl>
      <table class="fields" aria-label="What the service runs on">
        <thead>
          <tr>
            <th scope="col">Part</th>
            <th scope="col">State</th>
            <th scope="col">Remark</th>
          </tr>
        </thead>
        <tbody>
          {parts.map((part) => (
            <tr key={part.name}>
              <td class="word">{labelOf(part.name)}</td>
              <td class="word">
                <Tag value={part.state} tone={TONES[part.state]} />
              </td>
              <td class="remark">
                <Remark part={part} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}

const TONES = { ready: 'positive', failed: 'negative', not_configured: 'neutral' } as const

function Remark({ part: { detail, settings } }: { readonly part: State['parts'][number] }) {
  return (
    <>
      {detail}
      {settings.length === 0 ? null : (
        <span class="quiet">
          {detail === null ? '' : '. '}
          Set{' '}
          {settings.map((name, at) => (
            <>
              {at === 0 ? '' : ', '}
              <code>{name}</code>
            </>
          ))}
        </span>
      )}
    </>
  )
}

const MOST_COUNTED = 1_000
const counted = (count: number) => (count >= MOST_COUNTED ? `${MOST_COUNTED} or more` : count)
