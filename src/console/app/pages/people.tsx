/** The list of people. */
import { pageOf, useFilters } from '../address.ts'
import { api, contentOf } from '../api.ts'
import { usePages } from '../load.ts'
import { List } from '../parts/list.tsx'
import { DemoHint, Empty } from '../parts/notes.tsx'
import { Time, Title } from '../parts/small.tsx'
import { nameOf } from '../words.ts'

export function People() {
  const filters = useFilters()
  const email = filters.get('email')
  const pages = usePages(filters.key, (cursor, signal) =>
    contentOf(
      api.GET('/v3/rest/people', {
        params: {
          query: {
            limit: 50,
            ...(cursor === undefined ? {} : { cursor }),
            ...(email === '' ? {} : { email }),
          },
        },
        signal,
      }),
    ),
  )
  return (
    <>
      <Title text="People">
        <form
          class="filter"
          onSubmit={(event) => {
            event.preventDefault()
            filters.set('email', String(new FormData(event.currentTarget).get('email') ?? '').trim())
          }}
        >
          <label>
            <span>E-mail address</span>
            <input type="search" name="email" defaultValue={email} />
          </label>
        </form>
      </Title>
      <List
        label="People"
        pages={pages}
        keyOf={({ uuid }) => uuid}
        hrefOf={({ uuid }) => pageOf(`/people/${uuid}`)}
        row={(person) => (
          <>
            <span class="main" dir="auto">
              {nameOf(person)}
            </span>
            <span class="quiet">{person.email}</span>
            <span class="tags" />
            <Time at={person.created_at} />
          </>
        )}
        empty={
          email === '' ? (
            <Empty title="No person yet">
              <p>A participant of a conversation or a call with an e-mail address is a person.</p>
              <DemoHint />
            </Empty>
          ) : (
            <Empty title="No person like this" />
          )
        }
      />
    </>
  )
}
