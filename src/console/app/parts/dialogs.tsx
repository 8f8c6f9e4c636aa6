/** Forms and questions in native dialogs, and secrets that are shown once. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Failure, useAct } from './act.tsx'

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
