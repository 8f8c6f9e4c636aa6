/** What the service runs on, what waits, and what failed for good: for operators. It shows no words of customers. */
import { useState } from 'preact/hooks'
import { api, contentOf, type Problem } from '../api.ts'
import { useSession } from '../context.ts'
import { usePages } from '../load.ts'
import { Failure, useAct } from '../parts/act.tsx'
import { Confirmed } from '../parts/dialogs.tsx'
import { More } from '../parts/more.tsx'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Time, Title } from '../parts/small.tsx'
import { ServiceState } from './service-state.tsx'

export function Health() {
  const { membership } = useSession()
  if (membership?.role !== 'administrator')
    return (
      <>
        <Title text="Health" />
        <p class="quiet">Administrators see here what waits and what failed.</p>
      </>
    )
  return (
    <>
      <Title text="Health" />
      <ServiceState />
      <DeadLetters />
      <Waiting />
    </>
  )
}

function DeadLetters() {
  const [round, setRound] = useState(0)
  const pages = usePages(`dead letters ${round}`, (cursor, signal) =>
    contentOf(
      api.GET('/v3/rest/actors/dead-letters', {
        params: { query: { limit: 50, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    ),
  )
  const { problem, isBusy, act } = useAct()
  const change = async (step: 'retry' | 'skip', actorKey: string, messageNumber: number) => {
    const path = { actorKey, messageNumber: String(messageNumber) }
    const address = `/v3/rest/actors/{actorKey}/messages/{messageNumber}/${step}` as const
    await contentOf(api.POST(address, { params: { path } }))
    setRound((before) => before + 1)
  }
  return (
    <section aria-labelledby="dead">
      <h2 id="dead">Failed for good</h2>
      <Failure problem={problem} />
      {pages.rows.length === 0 ? (
        <Nothing state={pages.state} problem={pages.problem} text="Nothing has failed for good." />
      ) : (
        <table class="fields">
          <thead>
            <tr>
              <th scope="col">Actor</th>
              <th scope="col">Message</th>
              <th scope="col">Attempts</th>
              <th scope="col">Since</th>
              <th scope="col">Action</th>
            </tr>
          </thead>
          <tbody>
            {pages.rows.map(({ actor, number, type, attempts, deadSince }) => (
              <tr key={`${actor} ${number}`}>
                <td>{actor}</td>
                <td class="word">{type}</td>
                <td>{attempts}</td>
                <td class="word">
                  <Time at={deadSince} />
                </td>
                <td class="row">
                  <button
                    type="button"
                    disabled={isBusy}
                    aria-label={`Retry ${type} of ${actor}`}
                    onClick={() => void act(() => change('retry', actor, number))}
                  >
                    Retry
                  </button>
                  <Confirmed
                    label="Skip"
                    name={`Skip ${type} of ${actor}`}
                    title="Skip this message for good?"
                    act={() => change('skip', actor, number)}
                  >
                    <p>It is dropped and never runs. Its actor goes on with the next message.</p>
                  </Confirmed>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <More pages={pages} />
    </section>
  )
}

function Waiting() {
  const pages = usePages('waiting', (cursor, signal) =>
    contentOf(
      api.GET('/v3/rest/actors', {
        params: { query: { limit: 50, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    ),
  )
  return (
    <section aria-labelledby="waiting">
      <h2 id="waiting">Waiting</h2>
      {pages.rows.length === 0 ? (
        <Nothing state={pages.state} problem={pages.problem} text="Nothing waits: all work is done." />
      ) : (
        <table class="fields">
          <thead>
            <tr>
              <th scope="col">Actor</th>
              <th scope="col">Message</th>
              <th scope="col">Attempts</th>
              <th scope="col">Due</th>
            </tr>
          </thead>
          <tbody>
            {pages.rows.map(({ actor, number, type, attempts, availableAt }) => (
              <tr key={`${actor} ${number}`}>
                <td>{actor}</td>
                <td class="word">{type}</td>
                <td>{attempts}</td>
                <td class="word">
                  <Time at={availableAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <More pages={pages} />
    </section>
  )
}

function Nothing({
  state,
  problem,
  text,
}: {
  readonly state: string
  readonly problem: Problem | null
  readonly text: string
}) {
  if (problem !== null) return <ErrorNote problem={problem} />
  return state === 'loading' ? <Loading /> : <p>{text}</p>
}
