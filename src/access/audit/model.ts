/** Shapes of the audit log in the API. */
import { Type } from '@sinclair/typebox'
import { pageOf, pageQuery } from '../../http/paging.ts'
import { momentParameter, uuidParameter } from '../../http/parameters.ts'
import { ACTIONS, type Action } from '../../kernel/audit-actions.ts'
import { moment, named, oneOf, orNull, text, uuid } from '../../platform/validation/schema.ts'
import { PRINCIPAL_KINDS } from './author.ts'

const AuditAction = named(
  'AuditAction',
  oneOf(
    ACTIONS as readonly [Action, ...Action[]],
    'The kind of the object, a point, and what was done with it',
  ),
)

const AuditEntry = named(
  'AuditEntry',
  Type.Object({
    id: uuid('Identifies the entry'),
    occurredAt: moment('When it happened; of reads that share an entry, when they were written'),
    principal: Type.Object(
      {
        kind: oneOf(
          PRINCIPAL_KINDS,
          '`user`: a user with a token or in a browser; `api_key`: a key of the organization; `operator`: the command line',
        ),
        id: orNull(uuid('Id'), 'Id of the user or of the key; `null`: the operator'),
      },
      { description: 'Who did it' },
    ),
    action: AuditAction,
    object: Type.Object(
      {
        kind: Type.String({ description: 'Kind of the object, such as `member`', examples: ['member'] }),
        id: orNull(
          Type.String({ examples: ['0197f3a5-7c1e-7d3b-9f52-1b2c3d4e5f60'] }),
          'Id of the object; `null`: a list, or the only object of its kind',
        ),
      },
      { description: 'What it was done with' },
    ),
    requestId: orNull(
      Type.String({ examples: ['0197f3a5-7c1e-7d3b-9f52-1b2c3d4e5f60'] }),
      '`X-Request-Id` of the request; `null`: the command line, or several reads in one entry',
    ),
    details: Type.Record(Type.String(), Type.Unknown(), {
      description: 'What changed, such as the new role. Never a secret, nor what customers said',
      examples: [{ role: 'viewer' }],
    }),
    times: Type.Integer({
      minimum: 1,
      description: 'How often it happened: reads of a few seconds share an entry',
    }),
  }),
)

export const AuditPage = pageOf(AuditEntry)

export const AuditQuery = Type.Object({
  principalId: Type.Optional(uuidParameter('Lists only entries of this user or key.')),
  action: Type.Optional(AuditAction),
  objectId: Type.Optional(text('Lists only entries about the object with this id.', { maxLength: 255 })),
  since: Type.Optional(momentParameter('Lists only entries from this moment on.')),
  until: Type.Optional(momentParameter('Lists only entries before this moment.')),
  ...pageQuery(100, 20),
})
