/** Shapes of the signed-in user and of sessions in the API. */
import { Type } from '@sinclair/typebox'
import { ROLES } from '../../kernel/roles.rules.ts'
import { named } from '../../platform/validation/schema.ts'

const Uuid = (description: string) => Type.String({ format: 'uuid', description })
const Moment = (description: string) => Type.String({ format: 'date-time', description })
const orNull = (schema: ReturnType<typeof Type.String>, description: string) =>
  Type.Union([schema, Type.Null()], { description })

const RoleName = Type.Union(
  ROLES.map((role) => Type.Literal(role)),
  { description: 'What the user may do in the organization' },
)

const ID = '01a1fdc2-308c-730f-afc3-7288cab37998'

export const SESSION_EXAMPLE = {
  user: { id: ID, email: 'ada@example.com', name: 'Ada' },
  organizations: [
    { id: '01a1fdc2-3087-7c3e-9d0a-5f0e5a5b1c11', name: 'Acme', timeZone: 'Europe/Berlin', role: 'analyst' },
  ],
  invitations: [],
  sessionId: '01a1fdc2-3090-7aa1-8a4b-0c8d6e1f2a33',
  csrfToken: 'q1vS9Yw3T0b2c4d6e8f0g2h4i6j8k0l2m4n6o8p0q2s',
}

export const SESSION_LIST_EXAMPLE = {
  data: [
    {
      id: '01a1fdc2-3090-7aa1-8a4b-0c8d6e1f2a33',
      current: true,
      userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      createdAt: '2026-01-02T09:00:00.000Z',
      expiresAt: '2026-02-01T09:00:00.000Z',
      lastUsedAt: '2026-01-02T09:30:00.000Z',
    },
  ],
}

export const SessionInfo = named(
  'Session',
  Type.Object({
    user: Type.Object(
      {
        id: Uuid('The user’s id'),
        email: Type.String({ description: 'The user’s e-mail address' }),
        name: Type.String({ description: 'The user’s display name' }),
      },
      { description: 'The signed-in user' },
    ),
    organizations: Type.Array(
      Type.Object({
        id: Uuid('The organization’s id, for the header `X-Service-Organization-Key`'),
        name: Type.String({ description: 'The organization’s name' }),
        timeZone: Type.String({
          description: 'By whose days the organization counts, such as `Europe/Berlin`',
        }),
        role: RoleName,
      }),
      { description: 'Organizations that the credential opens, in the order of joining' },
    ),
    invitations: Type.Array(
      Type.Object({
        organizationId: Uuid('The organization’s id'),
        organizationName: Type.String({ description: 'The organization’s name' }),
        role: RoleName,
        invitedAt: Moment('When an administrator of the organization added the user'),
      }),
      { description: 'The newest invitations that the user has neither accepted nor declined, at most 20' },
    ),
    sessionId: orNull(
      Type.String({ format: 'uuid' }),
      'The browser session of the request; `null` for a user token',
    ),
    csrfToken: orNull(
      Type.String(),
      'For the header `X-CSRF-Token` of requests that change something with this session; `null` for a user token',
    ),
  }),
)

export const UserSessionList = named(
  'UserSessionList',
  Type.Object({
    data: Type.Array(
      Type.Object({
        id: Uuid('Identifies the session'),
        current: Type.Boolean({ description: '`true`: the session of this request' }),
        userAgent: orNull(Type.String(), 'The browser that signed in, as it names itself'),
        createdAt: Moment('When the user signed in'),
        expiresAt: Moment('When the session ends: 30 days after the sign-in'),
        lastUsedAt: orNull(
          Type.String({ format: 'date-time' }),
          'When the session was last used, to the minute; `null`: never',
        ),
      }),
      { description: 'Sessions that can still be used, newest first, at most 100' },
    ),
  }),
)

export const SignInStatus = named(
  'SignInStatus',
  Type.Object({
    mail: Type.Union([Type.Literal('smtp'), Type.Literal('folder'), Type.Null()], {
      description:
        'How links are mailed: by SMTP, or into the folder `mail` of `DATA_DIR`; `null`: no links by mail, because ' +
        '`PUBLIC_BASE_URL` is not set and the service is not at the requester’s machine.',
    }),
    openId: Type.Union(
      [
        Type.Object({
          issuer: Type.String({ description: 'The OpenID Connect provider that people sign in with' }),
          newUserDomains: Type.Array(Type.String(), {
            description:
              'Unknown people with a verified e-mail address in one of these domains join the organization as viewers',
          }),
        }),
        Type.Null(),
      ],
      { description: 'Sign-in with OpenID Connect; `null`: not configured' },
    ),
    tokenIssuer: orNull(
      Type.String(),
      'The issuer whose access tokens the API accepts; `null`: the service makes tokens itself',
    ),
  }),
)
