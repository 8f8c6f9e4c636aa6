/** What a member may read and set about themselves. */
import { Type } from '@sinclair/typebox'
import { recorded } from '../../access/audit/change.ts'
import type { Members } from '../../access/identity/members.ts'
import { type Operation, ok, operation } from '../../http/operation.ts'
import type { UserPrincipal } from '../../kernel/principal.ts'
import { ROLES } from '../../kernel/roles.rules.ts'
import { named, oneOf, orNull, uuid } from '../../platform/validation/schema.ts'
import type { WeeklyMails } from './service.ts'

const ME = '/v3/rest/members/me'

const Self = named(
  'Self',
  Type.Object({
    id: uuid('The user’s id.'),
    email: Type.String({ description: 'The user’s e-mail address.' }),
    name: Type.String({ description: 'The user’s display name.' }),
    role: orNull(
      oneOf(ROLES, 'What the user may do in the organization.'),
      'What the user may do in the organization.',
    ),
    weeklyMail: Type.Boolean({ description: 'Whether the user gets the weekly mail of the organization.' }),
  }),
)

const UpdateSelf = Type.Object(
  {
    weeklyMail: Type.Boolean({ description: 'Whether the user wants the weekly mail of the organization.' }),
  },
  { additionalProperties: false },
)

/** Everything under `/v3/rest/members/me`. */
export function selfOperations(members: Pick<Members, 'find'>, mails: WeeklyMails): readonly Operation[] {
  const self = async (principal: UserPrincipal) => {
    const { id, email, name, role } = await members.find(principal.organizationId, principal.userId)
    return { id, email, name, role, weeklyMail: await mails.isWanted(principal) }
  }
  return [
    operation({
      id: 'getSelf',
      method: 'GET',
      path: ME,
      tag: 'Members',
      summary: 'Read yourself',
      description: 'The user of the token or session, as a member of its organization.',
      access: 'user',
      role: 'viewer',
      query: Type.Object({}),
      success: { status: 200, description: 'The user', schema: Self },
      async handler({ principal, query }) {
        query()
        return ok(await self(principal))
      },
    }),
    operation({
      id: 'updateSelf',
      method: 'PATCH',
      path: ME,
      tag: 'Members',
      summary: 'Set whether you get the weekly mail',
      description:
        'The mail says on Mondays what grew and what fell in the week before, of what the user may see, with quotations. It is off until the user ' +
        'sets it. The link in each mail ends it without a sign-in. Without `PUBLIC_BASE_URL` there is no mail: 503.',
      access: 'user',
      role: 'viewer',
      body: UpdateSelf,
      example: { weeklyMail: false },
      success: { status: 200, description: 'The user', schema: Self },
      async handler(call) {
        const { weeklyMail } = await call.body()
        const { principal } = call
        const also = recorded<boolean>(
          call,
          'member.updated',
          () => principal.userId,
          () => ({ weeklyMail }),
        )
        await mails.set(principal, weeklyMail, also)
        return ok(await self(principal))
      },
    }),
  ]
}
