/** `/v3/rest/organization`: the organization of the caller and its feature switches. */
import { Type } from '@sinclair/typebox'
import { type Operation, ok, operation } from '../../http/operation.ts'
import type { Alongside } from '../../platform/db/alongside.ts'
import { recorded } from '../audit/change.ts'
import type { Organization as OrganizationRow } from '../identity/service.ts'
import { DeletedOrganization, DeleteOrganization, Organization, UpdateOrganization } from './model.ts'

const PATH = '/v3/rest/organization'
const TAG = 'Organization'

/** The part of identity that manages organizations. */
export interface Organizations {
  /** @throws AppError 404 */
  findOrganization(idOrName: string): Promise<OrganizationRow>
  /** An absent member keeps its value. @throws AppError 400 if there is no such time zone; 404 */
  updateOrganization(
    organizationId: string,
    change: UpdateOrganization,
    also: Alongside<OrganizationRow>,
  ): Promise<OrganizationRow>
}

export interface OrganizationDeletion {
  /**
   * Refuses everything of the organization from now on, and has it erased.
   * @param name has to be that of the organization
   * @throws AppError 400 `organization_name_mismatch`; 404 if there is none, or it is being erased
   */
  begin(organizationId: string, name: string, also?: Alongside<string>): Promise<void>
}

export function organizationOperations(
  organizations: Organizations,
  deletion: OrganizationDeletion,
): readonly Operation[] {
  return [
    operation({
      id: 'getOrganization',
      method: 'GET',
      path: PATH,
      tag: TAG,
      summary: 'Read the organization',
      description: 'The name, the feature switches, the time zone and the remaining credits.',
      access: 'organizationOrUser',
      role: 'administrator',
      query: Type.Object({}),
      success: { status: 200, description: 'The organization', schema: Organization },
      async handler({ principal, query }) {
        query()
        return ok(organization(await organizations.findOrganization(principal.organizationId)))
      },
    }),
    operation({
      id: 'updateOrganization',
      method: 'PATCH',
      path: PATH,
      tag: TAG,
      summary: 'Switch agent conversations or recording on or off, or set the time zone',
      description:
        'Changes only the members that are given. A change takes effect with the next request, in every process.',
      access: 'organizationOrUser',
      role: 'administrator',
      body: UpdateOrganization,
      example: { agentChatsEnabled: true },
      success: { status: 200, description: 'The changed organization', schema: Organization },
      errors: ['unknown_member'],
      async handler(call) {
        const change = await call.body()
        const { organizationId } = call.principal
        const also = recorded<OrganizationRow>(
          call,
          'organization.updated',
          ({ id }) => id,
          () => ({ ...change }),
        )
        return ok(organization(await organizations.updateOrganization(organizationId, change, also)))
      },
    }),
    operation({
      id: 'deleteOrganization',
      method: 'DELETE',
      path: PATH,
      tag: TAG,
      summary: 'Delete the organization with everything in it',
      description: DELETION,
      access: 'user',
      isUnbound: true,
      role: 'administrator',
      query: DeleteOrganization,
      success: { status: 202, description: 'The organization is being erased', schema: DeletedOrganization },
      errors: ['organization_name_mismatch', 'unbound_credential_required'],
      async handler(call) {
        const { name } = call.query()
        const { organizationId } = call.principal
        const also = recorded<string>(call, 'organization.deleted', (id) => id)
        await deletion.begin(organizationId, name, also)
        return { status: 202, body: { id: organizationId, name, status: 'erasing' } }
      },
    }),
  ]
}

const DELETION =
  'Cannot be undone. From this answer on, every key, secret, token and session is refused in the organization, webhooks send nothing, and uploads end. Then ' +
  'all its data is erased in the background: rows, media and files, and the accounts of members who belong to no other organization. A bot in a ' +
  'meeting leaves first, and its recorder deletes its copy.'

function organization({ createdAt, isDemo: _, ...row }: OrganizationRow) {
  return { ...row, createdAt: createdAt.toISOString() }
}
