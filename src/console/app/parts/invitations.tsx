/** Organizations that ask the person to become a member. Nothing happens until the person answers. */
import { api, contentOf } from '../api.ts'
import { useSession } from '../context.ts'
import { chooseOrganization, type Session } from '../session.ts'
import { labelOf } from '../words.ts'
import { Failure, useAct } from './act.tsx'

const INVITATION = '/v3/rest/session/invitations/{invitingId}'

export function Invitations() {
  const { session } = useSession()
  return (
    <>
      {session.invitations.map((invitation) => (
        <Invitation key={invitation.organizationId} {...invitation} />
      ))}
    </>
  )
}

function Invitation({ organizationId, organizationName, role }: Session['invitations'][number]) {
  const { problem, isBusy, act } = useAct()
  const params = { path: { invitingId: organizationId } }
  const accept = () =>
    act(async () => {
      await contentOf(api.PUT(INVITATION, { params }))
      chooseOrganization(organizationId)
    })
  const decline = () =>
    act(async () => {
      await contentOf(api.DELETE(INVITATION, { params }))
      location.reload()
    })
  return (
    <section class="note" aria-label={`Invitation of ${organizationName}`}>
      <p>
        <bdi>{organizationName}</bdi> invites you. Role: {labelOf(role)}.
      </p>
      <p class="quiet">
        As a member you can be represented there by its administrators. They see nothing of your other
        organizations.
      </p>
      <p>
        <button type="button" disabled={isBusy} onClick={() => void accept()}>
          Accept
        </button>{' '}
        <button type="button" class="quiet" disabled={isBusy} onClick={() => void decline()}>
          Decline
        </button>
      </p>
      <Failure problem={problem} />
    </section>
  )
}

/** In place of the pages, which all need an organization. */
export function NoOrganization() {
  return (
    <div class="note">
      <h1>You belong to no organization</h1>
      <p>Ask an administrator to add you, or accept an invitation.</p>
    </div>
  )
}
