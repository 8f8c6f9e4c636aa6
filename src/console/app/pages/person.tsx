/** Everything that one person said, on every channel, newest first. */
import { useRoute } from 'preact-iso'
import { api, contentOf } from '../api.ts'
import { useLoaded, usePages } from '../load.ts'
import { More } from '../parts/more.tsx'
import { Empty, ErrorNote, Loading } from '../parts/notes.tsx'
import { placeOf } from '../parts/quotation.tsx'
import { Tag, Time, Title } from '../parts/small.tsx'
import { nameOf } from '../words.ts'

export function Person() {
  const { params } = useRoute()
  const personId = params.id ?? ''
  const person = useLoaded(personId, (signal) =>
    contentOf(api.GET('/v3/rest/people/{personId}', { params: { path: { personId } }, signal })),
  )
  const timeline = usePages(personId, (cursor, signal) =>
    contentOf(
      api.GET('/v3/rest/people/{personId}/timeline', {
        params: { path: { personId }, query: { limit: 30, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    ),
  )
  if (person.data === null)
    return person.state === 'failed' ? <ErrorNote problem={person.problem} /> : <Loading />
  return (
    <>
      <Title text={nameOf(person.data)}>
        <span class="quiet">{person.data.email}</span>
      </Title>
      {timeline.problem === null ? null : <ErrorNote problem={timeline.problem} />}
      {timeline.rows.length === 0 && timeline.state === 'ready' ? (
        <Empty title="This person said nothing yet" />
      ) : null}
      <ol class="timeline" aria-label="Timeline">
        {timeline.rows.map((entry) => {
          const { href, where } = placeOf(entry.channel, entry.id, {
            source: sourceOf(entry.path),
            startSec: entry.startSec,
          })
          return (
            <li key={`${entry.channel} ${entry.id}`}>
              <header>
                <a href={href}>
                  {where}
                  {entry.title === null ? null : (
                    <>
                      : <bdi>{entry.title}</bdi>
                    </>
                  )}
                </a>
                <Time at={entry.occurredAt} />
              </header>
              {entry.said.slice(0, 5).map((one) => (
                <blockquote key={`${one.messageId} ${one.startSec} ${one.text}`} dir="auto">
                  {one.text}
                </blockquote>
              ))}
              <p class="tags">
                {entry.signals.map((signal) => (
                  <Tag key={signal.id} value={signal.kind} tone={signal.rating} />
                ))}
              </p>
            </li>
          )
        })}
      </ol>
      <More pages={timeline} />
    </>
  )
}

/** The source of a feedback record, from the address of the record. */
const sourceOf = (path: string): number | null =>
  Number(/feedback-sources\/(\d+)\//.exec(path)?.[1] ?? 0) || null
