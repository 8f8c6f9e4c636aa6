/** What the settings pages share: rows and fields. */
import { type ComponentChildren, cloneElement, type VNode } from 'preact'
import { useId } from 'preact/hooks'
import type { Pages } from '../load.ts'
import { More } from '../parts/more.tsx'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Time } from '../parts/small.tsx'

interface RowsProps<T> {
  readonly label: string
  readonly pages: Pages<T>
  readonly keyOf: (row: T) => string
  readonly row: (row: T) => ComponentChildren
  readonly empty: ComponentChildren
}

/** A list whose rows have buttons. */
export function Rows<T>({ label, pages, keyOf, row, empty }: RowsProps<T>) {
  const { rows, state, problem } = pages
  if (rows.length === 0) {
    if (problem !== null) return <ErrorNote problem={problem} />
    return state === 'loading' ? <Loading /> : <div class="note">{empty}</div>
  }
  return (
    <>
      <ul class="list settings-list" aria-label={label} aria-busy={state === 'loading'}>
        {rows.map((one) => (
          <li key={keyOf(one)}>{row(one)}</li>
        ))}
      </ul>
      {problem === null ? null : <ErrorNote problem={problem} />}
      <More pages={pages} />
    </>
  )
}

/** One row: what it is, what is known about it, and what can be done. */
export function Row(props: {
  readonly main: ComponentChildren
  readonly note?: ComponentChildren
  readonly children?: ComponentChildren
}) {
  return (
    <div class="settings-row">
      <div>
        <div class="main" dir="auto">
          {props.main}
        </div>
        <div class="quiet">{props.note}</div>
      </div>
      <div class="row">{props.children}</div>
    </div>
  )
}

/** `used 3 days ago`, or `never used`. */
export function LastUsed({ at }: { readonly at: string | null }) {
  return at === null ? (
    <>never used</>
  ) : (
    <>
      used <Time at={at} />
    </>
  )
}

/** A control with its label. The hint describes the control and is no part of its name. */
export function Field(props: { readonly label: string; readonly hint?: string; readonly children: VNode }) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      {cloneElement(props.children, { id, 'aria-describedby': `${id}-hint` })}
      <small class="quiet" id={`${id}-hint`}>
        {props.hint}
      </small>
    </div>
  )
}

export function Check(props: {
  readonly label: string
  readonly name: string
  readonly value?: string
  readonly isChecked: boolean
}) {
  return (
    <label class="check">
      <input
        type="checkbox"
        name={props.name}
        {...(props.value === undefined ? {} : { value: props.value })}
        defaultChecked={props.isChecked}
      />
      <span>{props.label}</span>
    </label>
  )
}

/** The query of a page of a list. */
export const slice = (cursor: string | undefined, limit = 50) => ({
  limit,
  ...(cursor === undefined ? {} : { cursor }),
})
