/** Shapes of members and user tokens in the API. */
import { type Static, Type } from '@sinclair/typebox'
import { pageOf, pageQuery } from '../../http/paging.ts'
import { uuidParameter } from '../../http/parameters.ts'
import { DEFAULT_ROLE, ROLES } from '../../kernel/roles.rules.ts'
import { EMAIL_PATTERN } from '../../platform/validation/email-address.ts'
import { MAX_NAME } from '../../platform/validation/names.ts'
import { named, oneOf, trimmedText } from '../../platform/validation/schema.ts'
import { MEMBER_STATES } from './members.store.ts'

const SECONDS_A_DAY = 86_400
const MIN_LIFETIME_SECONDS = 60
/** Ten years. */
const MAX_LIFETIME_DAYS = 3_650
export const DEFAULT_LIFETIME_SECONDS = 30 * SECONDS_A_DAY

const Uuid = (description: string) => Type.String({ format: 'uuid', description })
const Moment = (description: string) => Type.String({ format: 'date-time', description })
const orNull = <S extends ReturnType<typeof Type.String>>(schema: S, description: string) =>
  Type.Union([schema, Type.Null()], { description })

const Role = oneOf(ROLES, 'What the user may do in the organization')

export const Member = named(
  'Member',
  Type.Object({
    id: Uuid('The user’s id'),
    email: Type.String({ description: 'The user’s e-mail address' }),
    name: Type.String({
      description: 'The user’s display name; of an invited person, the one that the organization gave',
    }),
    status: oneOf(
      MEMBER_STATES,
      '`invited`: a person whom another organization knows, and who has not accepted yet: they have no access',
    ),
    role: Type.Union([Role, Type.Null()], {
      description: 'What the user may do in the organization, or could; `null` for a former member',
    }),
    joinedAt: Moment('When the user became a member, or was invited'),
    removedAt: orNull(
      Type.String({ format: 'date-time' }),
      'When the member was removed; `null` for a present member',
    ),
  }),
)

export const MemberPage = pageOf(Member)

export const CreateMember = Type.Object(
  {
    email: Type.String({
      maxLength: MAX_NAME,
      pattern: EMAIL_PATTERN,
      documented: { format: 'email' },
      words: 'an e-mail address',
      description: 'The user’s e-mail address. White space around it is ignored',
    }),
    name: Type.Optional(trimmedText('Display name of a new user; default: the address.', MAX_NAME)),
    role: Type.Optional({ ...Role, default: DEFAULT_ROLE }),
  },
  { additionalProperties: false },
)

export const UpdateMember = Type.Object({ role: Role }, { additionalProperties: false })

export const MemberQuery = Type.Object({
  removed: Type.Boolean({
    default: false,
    description: '`true`: lists former members, `false`: lists present members',
  }),
  ...pageQuery(100, 20),
})

export const RemoveMemberQuery = Type.Object({
  transferTo: Type.Optional(
    uuidParameter('Id of another member, who becomes the owner of the private folders of the removed one'),
  ),
})

export const Removal = named(
  'MemberRemoval',
  Type.Object({
    id: Uuid('The user’s id'),
    removedAt: Moment('When the member was removed'),
    privateFolders: Type.Integer({
      description: 'Private folders that the member owned when this was called',
    }),
    privateRecordings: Type.Integer({
      description: 'Recordings in these folders that no other member could see when this was called',
    }),
    transferredTo: orNull(
      Type.String({ format: 'uuid' }),
      'The member who owns these folders now; `null`: they still belong to the former member and are hidden',
    ),
  }),
)

export const CreateUserToken = Type.Object(
  {
    userId: uuidParameter('Id of the member that the token is for'),
    name: Type.Optional(
      Type.Union([trimmedText('What the token is for.', MAX_NAME), Type.Null()], {
        description: `What the token is for: 1 to ${MAX_NAME} characters after trimming, or \`null\``,
      }),
    ),
    expiresInSeconds: Type.Optional(
      Type.Integer({
        minimum: MIN_LIFETIME_SECONDS,
        maximum: MAX_LIFETIME_DAYS * SECONDS_A_DAY,
        default: DEFAULT_LIFETIME_SECONDS,
        description: 'Lifetime in seconds: one minute to ten years. Default: 30 days',
      }),
    ),
  },
  { additionalProperties: false },
)
export type CreateUserToken = Static<typeof CreateUserToken>

const tokenMembers = {
  id: Uuid('Identifies the token: the `jti` claim in it'),
  userId: Uuid('The user that the token is for'),
  name: orNull(Type.String(), 'What the token is for; `null` if no name was given'),
  restricted: Type.Boolean({
    description:
      '`true`: the token is valid in this organization only; `false`: in every organization of its user (issued by the operator)',
  }),
  createdAt: Moment('When the token was issued'),
  expiresAt: Moment('When the token expires'),
  lastUsedAt: orNull(
    Type.String({ format: 'date-time' }),
    'When the token was last used, to the minute; `null`: never',
  ),
  revokedAt: orNull(
    Type.String({ format: 'date-time' }),
    'When this organization revoked the token; `null`: it is valid until it expires',
  ),
}
export const UserToken = named('UserToken', Type.Object(tokenMembers))

export const NewUserToken = named(
  'NewUserToken',
  Type.Object({
    ...tokenMembers,
    token: Type.String({
      description: 'The access token, for `Authorization: Bearer`. It is shown only once',
    }),
  }),
)

export const UpdateUserToken = Type.Object(
  {
    name: Type.Union([trimmedText('What the token is for.', MAX_NAME), Type.Null()], {
      description: `What the token is for: 1 to ${MAX_NAME} characters after trimming, or \`null\``,
    }),
  },
  { additionalProperties: false },
)

export const UserTokenPage = pageOf(UserToken)

export const UserTokenQuery = Type.Object({
  userId: Type.Optional(uuidParameter('Lists only tokens of this user')),
  ...pageQuery(100, 20),
})
