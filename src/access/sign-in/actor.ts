/**
 * The actor of a requested mail. An address that belongs to no user gets none, and neither does one that got several mails in a
 * short time.
 *
 * Delivery is at least once. A repeated delivery has the same `Message-ID` and another link; both links work until one is used.
 */
import { defineActor } from '../../actors/declaration.ts'
import type { ActorDefinition } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { signInMessages } from '../../kernel/messages/sign-in.ts'
import { createMailer } from '../../platform/mail/create.ts'
import { type Mailer, sendUnlessRefused } from '../../platform/mail/mail.ts'
import type { Identity } from '../identity/service.ts'
import { linkUrl } from './link.rules.ts'
import { linkMail } from './mail.ts'
import { admitMail, selectRequest } from './store.ts'

/** A link by mail is of no use hours later. */
const MAX_ATTEMPTS = 12
/** Mails to one address in 15 minutes. */
const MAX_MAILS = 3

type SignInActorDeps = Pick<Deps, 'config' | 'log'> & {
  readonly identity: Pick<Identity, 'createLink' | 'findUserAnywhere'>
}

export function signInActor(
  { config, log, identity }: SignInActorDeps,
  mailer: Mailer = createMailer(config),
): ActorDefinition {
  return defineActor(signInMessages, {
    maxAttempts: MAX_ATTEMPTS,
    handlers: {
      async send_link(turn) {
        const request = await turn.step((tx) => selectRequest(tx, turn.message.id))
        const user = request === null ? null : await identity.findUserAnywhere(request.email)
        if (
          request !== null &&
          user !== null &&
          (await turn.step((tx) => admitMail(tx, request, MAX_MAILS)))
        ) {
          // It leads no further: whoever asked for the mail may be a stranger.
          const url = linkUrl(request.baseUrl, await identity.createLink(user.id, request.id))
          // The mail goes to the address that the user is known by, not to the one that was entered.
          await sendUnlessRefused(mailer, linkMail(request.id, user, url), { signal: turn.signal, log })
        }
        await turn.finish(async () => {})
      },
    },
  })
}
