/**
 * The actor of the mail that asks a person whether they become a member. It sends nothing if the invitation has ended meanwhile, and few
 * mails a day, so that an organization cannot flood people whom it invites again and again.
 */
import { defineActor } from '../../actors/declaration.ts'
import type { ActorDefinition } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { invitationMessages } from '../../kernel/messages/invitation.ts'
import { createMailer } from '../../platform/mail/create.ts'
import { type Mailer, sendUnlessRefused } from '../../platform/mail/mail.ts'
import type { Identity } from '../identity/service.ts'
import { createInvitationLinks } from './invitation-link.ts'
import { invitationMail } from './mail.ts'

/** The pause between attempts grows to five minutes, so delivery survives about four hours without a mail server. */
const MAX_ATTEMPTS = 60

type InvitationActorDeps = Pick<Deps, 'config' | 'log'> & {
  readonly identity: Pick<Identity, 'admitInvitationMail' | 'findInvitation' | 'findUserAnywhere'>
}

export function invitationActor(
  { config, log, identity }: InvitationActorDeps,
  mailer: Mailer = createMailer(config),
): ActorDefinition {
  const links = createInvitationLinks(config)
  return defineActor(invitationMessages, {
    maxAttempts: MAX_ATTEMPTS,
    handlers: {
      async send(turn) {
        const { userId, baseUrl } = turn.message.payload
        const invitation = await identity.findInvitation(turn.organization, userId)
        const user = invitation === null ? null : await identity.findUserAnywhere(userId)
        if (
          invitation !== null &&
          user !== null &&
          (await turn.step((tx) => identity.admitInvitationMail(tx, userId, invitation)))
        ) {
          const url = await links.of(baseUrl, { ...invitation, userId })
          const mail = invitationMail({ ...invitation, id: turn.message.id, to: user.email, url })
          await sendUnlessRefused(mailer, mail, { signal: turn.signal, log })
        }
        await turn.finish(async () => {})
      },
    },
  })
}
