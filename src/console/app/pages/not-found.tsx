/** An address of the console that leads nowhere. */
import { pageOf } from '../address.ts'
import { Empty } from '../parts/notes.tsx'
import { Title } from '../parts/small.tsx'

export function NotFound() {
  return (
    <>
      <Title text="Not found" />
      <Empty title="There is no such page">
        <p>
          <a href={pageOf('')}>To the overview</a>
        </p>
      </Empty>
    </>
  )
}
