/** A list of links with a cursor: `j` and `k` move, Enter opens, the button loads more. */
import type { ComponentChildren } from 'preact'
import type { Pages } from '../load.ts'
import { More } from './more.tsx'
import { ErrorNote, Loading } from './notes.tsx'

interface Props<T> {
  readonly label: string
  readonly pages: Pages<T>
  readonly keyOf: (row: T) => string
  readonly hrefOf: (row: T) => string
  readonly row: (row: T) => ComponentChildren
  /** Shown if the list is empty. */
  readonly empty: ComponentChildren
}

export function List<T>({ label, pages, keyOf, hrefOf, row, empty }: Props<T>) {
  const { rows, state, problem } = pages
  if (rows.length === 0) {
    if (problem !== null) return <ErrorNote problem={problem} />
    return state === 'loading' ? <Loading /> : empty
  }
  return (
    <>
      <ul class="list" aria-label={label} aria-busy={state === 'loading'}>
        {rows.map((one) => (
          <li key={keyOf(one)}>
            <a class="row-link" data-row href={hrefOf(one)}>
              {row(one)}
            </a>
          </li>
        ))}
      </ul>
      {problem === null ? null : <ErrorNote problem={problem} />}
      <More pages={pages} />
    </>
  )
}
