/**
 * Accepting a submission.
 *
 * The rule: the submission and the letters that will send its mails commit together, and only then is it accepted. Mail to
 * the address that was given goes out at most once for a list, and at most once a day for a download, so that a form
 * is of no use for flooding somebody's mailbox.
 */
import { transactionWithMail } from '../actors/mailbox.ts'
import type { Deps } from '../container.ts'
import { isConfirmed } from './mails.ts'
import type { Form } from './model.ts'
import { givenFields } from './rules.ts'
import { insertSubmission, usedRecently } from './store.ts'

export interface Website {
  /** `body` is trimmed and has passed the form's schema. */
  submit(form: Form, body: Readonly<Record<string, unknown>>): Promise<void>
}

export function createWebsite(deps: Pick<Deps, 'sql' | 'doorbell' | 'newId' | 'config'>): Website {
  return {
    submit(form, body) {
      const { email = '', ...fields } = givenFields(Object.keys(form.body.properties), body)
      const submission = { id: deps.newId(), form: form.name, email, fields }
      return transactionWithMail(deps, async (tx, outbox) => {
        if (!(await insertSubmission(tx, submission))) return
        const confirmed = isConfirmed(form.name) && (form.once || !(await usedRecently(tx, submission)))
        const key = `form:${submission.id}` as const
        if (deps.config.mail.teamEmail !== null) await outbox.send([{ key, type: 'notify_team' }])
        if (confirmed) await outbox.send([{ key, type: 'confirm' }])
      })
    },
  }
}
