/** The organization and its switches. */
import { useState } from 'preact/hooks'
import { pageOf } from '../address.ts'
import { api, contentOf, type Schemas } from '../api.ts'
import { useLoaded } from '../load.ts'
import { Failure, useAct } from '../parts/act.tsx'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Time, Title } from '../parts/small.tsx'

type Switch = 'agentChatsEnabled' | 'recordingAllowed'

const SWITCHES: readonly (readonly [Switch, string, string])[] = [
  ['agentChatsEnabled', 'Agents may send conversations', 'If not, what they send is refused.'],
  ['recordingAllowed', 'Meetings may be recorded', 'If not, nobody can join a meeting.'],
]

/** Names of the IANA time zone database that the browser knows, with the one that is set. */
const timeZonesWith = (chosen: string): readonly string[] =>
  [
    ...new Set(['UTC', chosen, ...Intl.supportedValuesOf('timeZone').filter((name) => name.includes('/'))]),
  ].toSorted()

export function General() {
  const [changed, setChanged] = useState<Schemas['Organization'] | null>(null)
  const { problem, isBusy, act } = useAct()
  const loaded = useLoaded('organization', (signal) =>
    contentOf(api.GET('/v3/rest/organization', { signal })),
  )
  const organization = changed ?? loaded.data
  if (organization === null)
    return loaded.state === 'failed' ? <ErrorNote problem={loaded.problem} /> : <Loading />
  return (
    <>
      <Title text="Settings" />
      <dl class="facts">
        <div>
          <dt>Organization</dt>
          <dd>{organization.name}</dd>
        </div>
        <div>
          <dt>Id</dt>
          <dd>
            <code>{organization.id}</code>
          </dd>
        </div>
        <div>
          <dt>Created</dt>
          <dd>
            <Time at={organization.createdAt} />
          </dd>
        </div>
      </dl>
      {SWITCHES.map(([name, label, hint]) => (
        <label class="check" key={name}>
          <input
            type="checkbox"
            checked={organization[name]}
            disabled={isBusy}
            onChange={(event) => {
              const box = event.currentTarget
              const body = { [name]: box.checked }
              void act(async () =>
                setChanged(await contentOf(api.PATCH('/v3/rest/organization', { body }))),
              ).then((isDone) => {
                if (!isDone) box.checked = organization[name]
              })
            }}
          />
          <span>
            {label} <small class="quiet">{hint}</small>
          </span>
        </label>
      ))}
      <label class="filter">
        <span>Time zone</span>
        <select
          value={organization.timeZone}
          disabled={isBusy}
          onChange={(event) => {
            const select = event.currentTarget
            const body = { timeZone: select.value }
            void act(async () => {
              setChanged(await contentOf(api.PATCH('/v3/rest/organization', { body })))
              // Every page counts by the days of the session's time zone.
              location.reload()
            }).then((isDone) => {
              if (!isDone) select.value = organization.timeZone
            })
          }}
        >
          {timeZonesWith(organization.timeZone).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <p class="quiet">Days begin and end by its clocks, in every count and chart.</p>
      <Failure problem={problem} />
      <p>
        What waits and what failed is on the <a href={pageOf('/health')}>health page</a>. Imports are on the{' '}
        <a href={pageOf('/feedback')}>feedback page</a>.
      </p>
    </>
  )
}
