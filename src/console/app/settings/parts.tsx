/** What the settings pages share: rows, forms in dialogs, and secrets that are shown once. */
import { type ComponentChildren, cloneElement, type VNode } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { Problem } from '../api.ts'
import { type Pages, problemOf } from '../load.ts'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Time } from '../parts/small.tsx'
import { sentencesOf } from './problem-words.ts'

export interface Act {
  readonly problem: Problem | null
  readonly isBusy: boolean
  /** Runs a change. While one runs, another is not begun. @returns whether it succeeded */
  readonly act: (change: () => Promise<unknown>) => Promise<boolean>
}

/** Changes of one place, one after the other: a second click sends nothing. */
export function useAct(): Act {
  const [problem, setProblem] = useState<Problem | null>(null)
  const [isBusy, setBusy] = useState(false)
  const running = useRef(false)
  const act = async (change: () => Promise<unknown>) => {
    if (running.current) return false
    running.current = true
    setBusy(true)
    try {
      await change()
      setProblem(null)
      return true
    } catch (error) {
      setProblem(problemOf(error))
      return false
    } finally {
      running.current = false
      setBusy(false)
    }
  }
  return { problem, isBusy, act }
}

/** Why a change failed, in words that tell what to do. */
export function Failure({ problem }: { readonly problem: Problem | null }) {
  if (problem === null) return null
  return (
    <div class="failure" role="alert">
      {sentencesOf(problem).map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </div>
  )
}

interface DialogProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly onClose: () => void
}

/** A native dialog. It opens when it appears; the place with the focus gets it back when it closes. */
function Dialog({ title, children, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="form" aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  )
}

interface FormProps extends DialogProps {
  /** What the button does, such as `Create`. */
  readonly submit: string
  /**
   * Sends the form. The dialog closes if it succeeds, else it says why it failed. If it resolves with a function, that runs when the
   * dialog has closed: to open another one.
   */
  readonly onSubmit: (fields: Fields) => Promise<unknown>
}

export interface Fields {
  /** The trimmed text of a field; empty if there is none. */
  readonly text: (name: string) => string
  readonly all: (name: string) => readonly string[]
  readonly isChecked: (name: string) => boolean
}

export function fieldsOf(form: HTMLFormElement): Fields {
  const data = new FormData(form)
  return {
    text: (name) => String(data.get(name) ?? '').trim(),
    all: (name) => data.getAll(name).map(String),
    isChecked: (name) => data.has(name),
  }
}

export function FormDialog({ title, submit, children, onSubmit, onClose }: FormProps) {
  const { problem, isBusy, act } = useAct()
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const form = event.currentTarget
          let next: unknown
          const send = async () => {
            next = await onSubmit(fieldsOf(form))
          }
          void act(send).then((isDone) => {
            if (!isDone) return
            form.closest('dialog')?.close()
            if (typeof next === 'function') next()
          })
        }}
      >
        {children}
        <Failure problem={problem} />
        <div class="row">
          <button type="submit" disabled={isBusy}>
            {submit}
          </button>
          <Cancel />
        </div>
      </form>
    </Dialog>
  )
}

function Cancel() {
  return (
    <button type="button" onClick={(event) => event.currentTarget.closest('dialog')?.close()}>
      Cancel
    </button>
  )
}

/** A secret, which the service shows once. It is nowhere but on the screen, and gone when the dialog closes. */
export function SecretDialog(props: {
  readonly title: string
  readonly secret: string
  readonly children?: ComponentChildren
  readonly onClose: () => void
}) {
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <p>Store it now. It is shown only once.</p>
      <CopyText text={props.secret} what="secret" />
      {props.children}
      <button type="button" onClick={(event) => event.currentTarget.closest('dialog')?.close()}>
        I have stored it
      </button>
    </Dialog>
  )
}

/** Text to copy. @param what a word for the button */
export function CopyText({ text, what }: { readonly text: string; readonly what: string }) {
  const [said, setSaid] = useState('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setSaid('Copied.')
    } catch {
      setSaid('The browser does not allow it: select the text and copy it.')
    }
  }
  return (
    <>
      <pre class="command">
        <code>{text}</code>
        <button type="button" aria-label={`Copy the ${what}`} onClick={() => void copy()}>
          Copy
        </button>
      </pre>
      <p class="quiet" role="status">
        {said}
      </p>
    </>
  )
}

/** A button that opens a dialog. The dialog is made anew each time. */
export function Opens(props: {
  readonly label: string
  /** Named for assistive technology where several buttons have the same label. */
  readonly name?: string
  readonly dialog: (close: () => void) => ComponentChildren
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        {...(props.name === undefined ? {} : { 'aria-label': props.name })}
        onClick={() => setOpen(true)}
      >
        {props.label}
      </button>
      {isOpen ? props.dialog(() => setOpen(false)) : null}
    </>
  )
}

/** A change that cannot be taken back is asked for twice. */
export function Confirmed(props: {
  readonly label: string
  readonly name?: string
  readonly title: string
  readonly children: ComponentChildren
  readonly act: (fields: Fields) => Promise<unknown>
}) {
  return (
    <Opens
      label={props.label}
      {...(props.name === undefined ? {} : { name: props.name })}
      dialog={(close) => (
        <FormDialog title={props.title} submit={props.label} onSubmit={props.act} onClose={close}>
          {props.children}
        </FormDialog>
      )}
    />
  )
}

interface RowsProps<T> {
  readonly label: string
  readonly pages: Pages<T>
  readonly keyOf: (row: T) => string
  readonly row: (row: T) => ComponentChildren
  readonly empty: ComponentChildren
}

/** A list whose rows have buttons. */
export function Rows<T>({ label, pages, keyOf, row, empty }: RowsProps<T>) {
  const { rows, state, problem, more } = pages
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
      {more === null ? null : (
        <button type="button" class="more" onClick={more}>
          Show more
        </button>
      )}
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
        <div class="main">{props.main}</div>
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
