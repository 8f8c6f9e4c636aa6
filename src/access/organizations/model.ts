/** Shapes of the caller's own organization in the API. */
import { type Static, Type } from '@sinclair/typebox'
import { createdAt, named, uuid } from '../../platform/validation/schema.ts'

const agentChatsEnabled = Type.Boolean({
  description: 'Whether agents may send conversations; if not, ingestion answers 404 `agent_chats_disabled`',
})
const recordingAllowed = Type.Boolean({
  description:
    'Whether meetings may be recorded; if not, a meeting join answers 401 `recording_not_permitted`',
})

const timeZone = Type.String({
  description:
    'By whose days everything is counted: a name of the IANA time zone database, such as `Europe/Berlin`. After a change, what is there is ' +
    'counted again in the background.',
  examples: ['Europe/Berlin'],
})

export const Organization = named(
  'Organization',
  Type.Object({
    id: uuid('Id of the organization.'),
    name: Type.String({ description: 'Name of the organization.' }),
    agentChatsEnabled,
    recordingAllowed,
    timeZone,
    responseCredits: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: '`agent_response_processed` units that are left; `null`: unlimited',
    }),
    createdAt,
  }),
)

export const UpdateOrganization = Type.Object(
  {
    agentChatsEnabled: Type.Optional(agentChatsEnabled),
    recordingAllowed: Type.Optional(recordingAllowed),
    timeZone: Type.Optional(timeZone),
  },
  { additionalProperties: false },
)
export type UpdateOrganization = Static<typeof UpdateOrganization>

export const DeleteOrganization = Type.Object(
  {
    name: Type.String({ description: 'The name of the organization, exactly: what is about to be deleted.' }),
  },
  { additionalProperties: false },
)

export const DeletedOrganization = named(
  'DeletedOrganization',
  Type.Object({
    id: uuid('Id of the organization.'),
    name: Type.String({ description: 'Name of the organization.' }),
    status: Type.Literal('erasing', { description: 'Everything is refused; its data is being erased.' }),
  }),
)
