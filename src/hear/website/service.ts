/**
 * Accepts submissions.
 *
 * The submission and the messages that send its mails commit in one transaction, before the response. The address in the
 * form receives at most one confirmation for a list and at most one a day for a download, so that the form cannot be used
 * to flood a mailbox.
 */

import { transactionWithOutbox } from '../../actors/mailbox.ts'
import type { Deps } from '../../kernel/deps.ts'
import { confirmationMessages, formMessages } from '../../kernel/messages/form.ts'
import { accountAddress } from '../../platform/validation/user-address.ts'
import { isConfirmed } from './mails.ts'
import type { Form } from './model.ts'
import { givenFields } from './rules.ts'
import { insertSubmission, usedRecently } from './store.ts'

export interface Website {
  /** `body` is trimmed and validated against the form's schema. */
  submit(form: Form, body: Readonly<Record<string, unknown>>): Promise<void>
}

export function createWebsite(deps: Pick<Deps, 'sql' | 'notifier' | 'newId' | 'config'>): Website {
  return {
    submit(form, body) {
      const { email = '', ...fields } = givenFields(Object.keys(form.body.properties), body)
      const submission = { id: deps.newId(), form: form.name, email: accountAddress(email) ?? email, fields }
      return transactionWithOutbox(deps, async (tx, outbox) => {
        if (!(await insertSubmission(tx, submission))) return
        const confirmed = isConfirmed(form.name) && (form.once || !(await usedRecently(tx, submission)))
        if (deps.config.mail.teamEmail !== null)
          await outbox.send([formMessages.message(submission.id, 'notify_team')])
        if (confirmed) await outbox.send([confirmationMessages.message(submission.id, 'send')])
      })
    },
  }
}
