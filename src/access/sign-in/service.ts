/**
 * Mails with sign-in links.
 *
 * Whether an address belongs to a user is looked up by a worker, after the answer. So the answer and the time that it takes are
 * the same for every address.
 */
import { transactionWithOutbox } from '../../actors/mailbox.ts'
import type { MaintenanceTask } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { signInMessages } from '../../kernel/messages/sign-in.ts'
import { deleteOldRequests, insertRequest } from './store.ts'

export interface SignIn {
  /** Accepts a request for a mail. `baseUrl` comes from `mailBaseUrl`. */
  requestMail(request: { readonly email: string; readonly baseUrl: string }): Promise<void>
}

export function createSignIn(deps: Pick<Deps, 'sql' | 'notifier' | 'newId'>): SignIn {
  return {
    requestMail(request) {
      const id = deps.newId()
      return transactionWithOutbox(deps, async (tx, outbox) => {
        await insertRequest(tx, { id, ...request })
        await outbox.send([signInMessages.message(id, 'send_link')])
      })
    },
  }
}

const DELETIONS = 1_000

export function signInMaintenance({ sql }: Pick<Deps, 'sql'>): readonly MaintenanceTask[] {
  return [
    {
      name: 'old_sign_in_requests',
      everySeconds: 3_600,
      async run(stopping) {
        while (!stopping.aborted && (await deleteOldRequests(sql, DELETIONS)) === DELETIONS);
      },
    },
  ]
}
