/** Feedback sources and the import of files. */
import type { SourceRow } from '../../hear/feedback/service.ts'
import { type Command, type Flag, type Input, UsageError } from '../command.ts'
import { inOrganization, ORG_FLAG } from '../in-organization.ts'
import { pairs, table } from '../output.ts'
import { ROWS_FLAGS } from '../rows-file.ts'
import type { Services } from '../services.ts'

const SOURCES_SHOWN = 1000

const IMPORT_FLAGS: Readonly<Record<string, Flag>> = {
  ...ORG_FLAG,
  source: { value: 'id or name', summary: 'the feedback source', required: true },
  map: {
    value: 'column=category:type:name',
    summary: 'the field of a column, or column=- to leave it out; repeatable',
    repeated: true,
  },
  mapping: {
    value: 'file',
    summary: 'mapping as a JSON file: {external_id, email, timestamp, columns: {column: "…"}}',
  },
  'external-id': {
    value: 'column',
    summary: 'unique id of a row, so that it is imported once (default: external_id)',
  },
  email: { value: 'column', summary: 'e-mail address of the person (default: email)' },
  timestamp: { value: 'column', summary: 'time of the feedback, RFC 3339 (default: display_ts)' },
  ...ROWS_FLAGS,
}

const service = async ({ container }: Services) => {
  const { createFeedback } = await import('../../hear/feedback/service.ts')
  const { createDirectory } = await import('../../people/directory.ts')
  return createFeedback({
    ...container,
    assertPerson: createDirectory({ ...container, erasers: {}, movers: [], recordingsOf: async () => [] })
      .get,
  })
}

export const feedbackCommands: readonly Command[] = [
  {
    name: 'feedback source-create',
    args: ['name'],
    summary: 'Create a feedback source',
    flags: ORG_FLAG,
    async run(input) {
      return inOrganization(input, async (open, { id: organizationId }) => {
        const source = await (await service(open)).createSource(organizationId, { name: input.arg('name') })
        return { json: { organizationId, ...source }, lines: pairs({ id: source.id, name: source.name }) }
      })
    },
  },
  {
    name: 'feedback source-list',
    args: [],
    summary: 'List the feedback sources of an organization',
    flags: ORG_FLAG,
    async run(input) {
      return inOrganization(input, async (open, { id: organizationId }) => {
        const position = { after: null, offset: 0, limit: SOURCES_SHOWN }
        const rows = await (await service(open)).listSources(organizationId, {}, position)
        const columns = {
          id: ({ id }: SourceRow) => id,
          name: ({ name }: SourceRow) => name,
          created: ({ createdAt }: SourceRow) => createdAt,
        }
        return { json: { organizationId, feedbackSources: rows }, lines: table(rows, columns, 'no sources') }
      })
    },
  },
  {
    name: 'feedback import',
    args: ['file'],
    summary: 'Import records from a CSV or JSON Lines file; rows with a known external id are skipped',
    flags: IMPORT_FLAGS,
    async run(input) {
      const { importFile } = await import('../feedback-import.ts')
      return inOrganization(input, async (open, { id: organizationId }) => {
        const source = await findSource(open, organizationId, input)
        return importFile(open, organizationId, source, input)
      })
    },
  },
]

/** Finds a source by name, else by id. @throws UsageError if several have the name, or none */
async function findSource(open: Services, organizationId: string, input: Input): Promise<SourceRow> {
  const feedback = await service(open)
  const named = input.flag('source') ?? ''
  const position = { after: null, offset: 0, limit: 1 }
  const [found, another] = await feedback.listSources(organizationId, { name: named.trim() }, position)
  if (another !== undefined)
    throw new UsageError(`several sources have the name ${JSON.stringify(named)}: give the id`)
  if (found !== undefined) return found
  if (/^[1-9]\d{0,15}$/.test(named)) return feedback.getSource(organizationId, Number(named))
  throw new UsageError(
    `there is no source ${JSON.stringify(named)}: create it with earshot feedback source-create`,
  )
}
