/** Shapes of projects in the API and in the tools of coding agents. */
import { type Static, Type } from '@sinclair/typebox'
import { pageQuery } from '../../http/paging.ts'
import { MAX_NAME } from '../../platform/validation/names.ts'
import {
  count,
  createdAt,
  moment,
  named,
  optionalOrNull,
  orNull,
  text,
  trimmedText,
  updatedAt,
  uuid,
} from '../../platform/validation/schema.ts'

export const MAX_DESCRIPTION = 10_000
export const MAX_EXTERNAL_KEY = 255

const description = text('What the project is about.', { maxLength: MAX_DESCRIPTION })

export const CreateProject = Type.Object({
  name: trimmedText('Name of the project.', MAX_NAME),
  description: optionalOrNull(
    description,
    `What the project is about: at most ${MAX_DESCRIPTION} characters.`,
  ),
  externalKey: optionalOrNull(
    text('A key.', { minLength: 1, maxLength: MAX_EXTERNAL_KEY }),
    `Your key of the project, such as the address of its repository: 1 to ${MAX_EXTERNAL_KEY} characters. A second request with ` +
      'the same key answers with the existing project, unchanged.',
  ),
})
export type CreateProject = Static<typeof CreateProject>

export const ChangeProject = Type.Object(
  {
    name: Type.Optional(trimmedText('Name of the project.', MAX_NAME)),
    description: optionalOrNull(
      description,
      `What the project is about: at most ${MAX_DESCRIPTION} characters. \`null\` removes it.`,
    ),
  },
  { additionalProperties: false },
)
export type ChangeProject = Static<typeof ChangeProject>

export const Project = named(
  'Project',
  Type.Object({
    publicId: uuid('Id of the project.'),
    name: Type.String({ description: `Name of the project: 1 to ${MAX_NAME} characters.` }),
    description: orNull(
      Type.String({ examples: ['The payment pages.'] }),
      'What the project is about; null if nothing was said.',
    ),
    externalKey: orNull(
      Type.String({ examples: ['github.com/example/checkout'] }),
      'The caller’s key of the project; null if none was given.',
    ),
    createdAt,
    updatedAt,
  }),
)
export interface Project {
  readonly publicId: string
  readonly name: string
  readonly description: string | null
  readonly externalKey: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export const ProjectQuery = Type.Object({
  ...pageQuery(100, 20),
  externalKey: Type.Optional(
    Type.String({ description: 'Your key of the project. At most one project has it.' }),
  ),
})

export const Associate = Type.Object(
  { sessionId: uuid('Id of an uploaded agent session.') },
  { additionalProperties: false },
)

export const Association = named(
  'ProjectAssociation',
  Type.Object({
    associated: Type.Boolean({
      description: 'Whether the session belongs to the project now: always `true`.',
    }),
    alreadyAssociated: Type.Boolean({
      description: 'Whether it had belonged to the project before the request.',
    }),
  }),
)
export type Association = Static<typeof Association>

export const ProjectSession = named(
  'ProjectSession',
  Type.Object({
    sessionId: uuid('Id of the agent session.'),
    agent: Type.String({ examples: ['claude-code'], description: 'The agent, such as `claude-code`.' }),
    title: orNull(
      Type.String({ examples: ['Fix the checkout'] }),
      'Title of the session; null if it has none.',
    ),
    repo: orNull(
      Type.String({ examples: ['github.com/example/checkout'] }),
      'Repository that the agent worked on; null if unknown.',
    ),
    branch: orNull(Type.String({ examples: ['main'] }), 'Branch that the agent worked on; null if unknown.'),
    commit: orNull(
      Type.String({ examples: ['4bf92f3'] }),
      'Commit that the agent started from; null if unknown.',
    ),
    startedAt: orNull(
      moment('A moment.'),
      'Time of its first event, in UTC; null if its events have no times.',
    ),
    endedAt: orNull(moment('A moment.'), 'Time of its last event, in UTC; null if its events have no times.'),
    eventCount: count('Stored events of the session.'),
    associatedAt: moment('When it was associated with the project, in UTC.'),
  }),
)
export interface ProjectSession {
  readonly sessionId: string
  readonly agent: string
  readonly title: string | null
  readonly repo: string | null
  readonly branch: string | null
  readonly commit: string | null
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly eventCount: number
  readonly associatedAt: Date
}

export const SessionQuery = Type.Object(pageQuery(100, 20))
