/** Folders of recordings, and upload batches of users. */
import type { UploadBatch } from '../../calls/folders/model.ts'
import type { FolderRow, Folders } from '../../calls/folders/service.ts'
import type { Viewer } from '../../kernel/principal.ts'
import type { Command, Flag, Input } from '../command.ts'
import { inOrganization, ORG_FLAG } from '../in-organization.ts'
import { pairs, table } from '../output.ts'
import type { Services } from '../services.ts'

/** The REST API lists more than this, page by page. */
const MAX_LISTED = 1_000

const USER_FLAGS: Readonly<Record<string, Flag>> = {
  ...ORG_FLAG,
  user: { value: 'id or address', summary: 'owner of the batches', required: true },
}

async function open({ container }: Services): Promise<Folders> {
  const { createFolders } = await import('../../calls/folders/service.ts')
  return createFolders(container)
}

async function userOf({ identity }: Services, organizationId: string, named: string) {
  const { id: userId } = await identity.findUser(organizationId, named)
  return { kind: 'user', organizationId, userId } as const
}

/** The user of `--owner`, or the organization. */
async function viewerOf(services: Services, organizationId: string, input: Input): Promise<Viewer> {
  const owner = input.flag('owner')
  return owner === undefined
    ? { kind: 'organization', organizationId }
    : userOf(services, organizationId, owner)
}

const shown = ({ id, name, shared, createdAt }: FolderRow) => ({ id, name, shared, createdAt })

const folders: readonly Command[] = [
  {
    name: 'folder create',
    args: ['name'],
    summary: 'Create a folder, shared by the organization or private to a user',
    flags: { ...ORG_FLAG, owner: { value: 'id or address', summary: 'make it private to this user' } },
    async run(input) {
      return inOrganization(input, async (services, { id: organizationId }) => {
        const viewer = await viewerOf(services, organizationId, input)
        const folder = { name: input.arg('name'), shared: viewer.kind === 'organization' }
        const created = shown(await (await open(services)).create(viewer, folder))
        return { json: { organizationId, ...created }, lines: pairs(created) }
      })
    },
  },
  {
    name: 'folder list',
    args: [],
    summary: 'List the shared folders, newest first',
    flags: {
      ...ORG_FLAG,
      owner: { value: 'id or address', summary: 'also list private folders of this user' },
    },
    async run(input) {
      return inOrganization(input, async (services, { id: organizationId }) => {
        const viewer = await viewerOf(services, organizationId, input)
        const rows = await (await open(services)).list(viewer, { after: null, limit: MAX_LISTED })
        const columns = {
          id: (row: FolderRow) => row.id,
          name: (row: FolderRow) => row.name,
          shared: (row: FolderRow) => row.shared,
          created: (row: FolderRow) => row.createdAt,
        }
        return {
          json: { organizationId, folders: rows.map(shown) },
          lines: table(rows, columns, 'no folders'),
        }
      })
    },
  },
]

const batches: readonly Command[] = [
  {
    name: 'batch create',
    args: [],
    summary: 'Create an upload batch of a user',
    flags: USER_FLAGS,
    async run(input) {
      return inOrganization(input, async (services, { id: organizationId }) => {
        const user = await userOf(services, organizationId, input.flag('user') ?? '')
        const { id, createdAt } = await (await open(services)).createBatch(user)
        return {
          json: { organizationId, userId: user.userId, id, createdAt },
          lines: pairs({ id, created: createdAt }),
        }
      })
    },
  },
  {
    name: 'batch list',
    args: [],
    summary: `List the upload batches of a user, the newest ${MAX_LISTED}`,
    flags: USER_FLAGS,
    async run(input) {
      return inOrganization(input, async (services, { id: organizationId }) => {
        const user = await userOf(services, organizationId, input.flag('user') ?? '')
        const rows = await (await open(services)).listBatches(user, MAX_LISTED)
        const columns = {
          id: (row: UploadBatch) => row.id,
          created: (row: UploadBatch) => row.createdAt,
        }
        return {
          json: { organizationId, userId: user.userId, batches: rows },
          lines: table(rows, columns, 'no batches'),
        }
      })
    },
  },
]

export const folderCommands: readonly Command[] = [...folders, ...batches]
