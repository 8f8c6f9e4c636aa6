/** The tools of projects: create, read, associate an agent session, list associated sessions. */
import { Type } from '@sinclair/typebox'
import { projectCreated, sessionAdded } from '../../../hear/projects/audit.ts'
import { MAX_DESCRIPTION, MAX_EXTERNAL_KEY } from '../../../hear/projects/model.ts'
import type { ProjectRow, Projects, SessionRow } from '../../../hear/projects/service.ts'
import { MAX_NAME } from '../../../platform/validation/names.ts'
import { oneOf, orNull, text, trimmedText, uuid } from '../../../platform/validation/schema.ts'
import { approvalMember } from './approved.ts'
import { quoted } from './quoted.rules.ts'
import { type Tool, tool } from './tool.ts'

const resourceType = oneOf(['project'], 'The kind of resource: `project`.')
const publicId = uuid('`publicId` of the project.')

export function projectTools(projects: Projects): readonly Tool[] {
  return [createProject(projects), associateSession(projects), getProject(projects), listSessions(projects)]
}

const createdMembers = {
  publicId,
  name: Type.String({ description: 'Name of the project.' }),
  description: orNull(Type.String(), 'What the project is about.'),
  createdAt: Type.String({ format: 'date-time', description: 'When it was created, in UTC.' }),
}

const createProject = (projects: Projects) =>
  tool({
    name: 'create-project',
    title: 'Create a project',
    description:
      'Creates a project in Earshot, which groups the sessions of coding agents by what they worked on. With an `externalKey`, ' +
      'such as the address of the repository, a project with the same key is returned unchanged instead of creating a second one.',
    changes: true,
    idempotent: false,
    input: Type.Object(
      {
        name: trimmedText('Name of the project.', MAX_NAME),
        description: Type.Optional(
          text(`What the project is about: at most ${MAX_DESCRIPTION} characters.`, {
            maxLength: MAX_DESCRIPTION,
          }),
        ),
        externalKey: Type.Optional(
          text(
            'Your key of the project, such as the address of its repository. The same key is the same project.',
            {
              minLength: 1,
              maxLength: MAX_EXTERNAL_KEY,
            },
          ),
        ),
        ...approvalMember,
      },
      { additionalProperties: false },
    ),
    output: Type.Object(createdMembers),
    async prepare(principal, input) {
      const { organizationId } = principal
      projects.check(input)
      return {
        question: `Create the project ${quoted(input.name)} in Earshot?`,
        run: async () =>
          createdProject(await projects.create(organizationId, input, projectCreated({ principal }))),
      }
    },
  })

const associateSession = (projects: Projects) =>
  tool({
    name: 'associate-agent-session',
    title: 'Associate an agent session with a project',
    description:
      'Adds an uploaded session of a coding agent to a project. Call it after `upload-agent-session`. Calling it again changes nothing.',
    changes: true,
    idempotent: true,
    input: Type.Object(
      {
        resourceType,
        publicId,
        sessionId: uuid('`sessionId` of the uploaded session.'),
        ...approvalMember,
      },
      { additionalProperties: false },
    ),
    output: Type.Object({
      associated: Type.Boolean({ description: 'Whether the session belongs to the project now.' }),
      alreadyAssociated: Type.Boolean({ description: 'Whether it had belonged to the project before.' }),
    }),
    async prepare(principal, input) {
      await projects.assertAssociable(principal, input.publicId, input.sessionId)
      const { name } = await projects.get(principal.organizationId, input.publicId)
      return {
        question: `Add the agent session ${input.sessionId} to the project ${quoted(name)} in Earshot?`,
        run: () =>
          projects.associate(
            principal,
            input.publicId,
            input.sessionId,
            sessionAdded({ principal }, input.publicId, input.sessionId),
          ),
      }
    },
  })

const getProject = (projects: Projects) =>
  tool({
    name: 'get-project',
    title: 'Read a project',
    description: 'Returns the name, description and key of a project.',
    changes: false,
    idempotent: true,
    input: Type.Object({ publicId }, { additionalProperties: false }),
    output: Type.Object({
      ...createdMembers,
      externalKey: orNull(Type.String(), 'The key that the project was created with.'),
      updatedAt: Type.String({ format: 'date-time', description: 'When it was changed last, in UTC.' }),
    }),
    prepare: async ({ organizationId }, input) => ({
      async run() {
        const row = await projects.get(organizationId, input.publicId)
        return { ...createdProject(row), externalKey: row.externalKey, updatedAt: row.updatedAt }
      },
    }),
  })

/** The most sessions of one answer, about 25 kB. */
const MAX_SESSIONS = 50

const listSessions = (projects: Projects) =>
  tool({
    name: 'list-associated-agent-sessions',
    title: 'List the agent sessions of a project',
    description:
      'Lists the sessions of coding agents that belong to a project, the latest association first. Shows the user’s own sessions ' +
      'and those that were uploaded with an API key.',
    changes: false,
    idempotent: true,
    input: Type.Object(
      {
        resourceType,
        publicId,
        page: Type.Optional(
          Type.Integer({ minimum: 1, description: 'Number of the page, from 1. Default: 1.' }),
        ),
        limit: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: MAX_SESSIONS,
            description: `Sessions per page: 1 to ${MAX_SESSIONS}. Default: 10.`,
          }),
        ),
      },
      { additionalProperties: false },
    ),
    output: Type.Object({
      data: Type.Array(
        Type.Object({
          sessionId: uuid('Id of the session.'),
          agent: Type.String({ description: 'The agent, such as `claude-code`.' }),
          title: orNull(Type.String()),
          repo: orNull(Type.String()),
          branch: orNull(Type.String()),
          commit: orNull(Type.String()),
          startedAt: orNull(Type.String({ format: 'date-time' })),
          endedAt: orNull(Type.String({ format: 'date-time' })),
          eventCount: Type.Integer({ minimum: 0 }),
          associatedAt: Type.String({ format: 'date-time' }),
        }),
      ),
      has_more: Type.Boolean({ description: 'Whether the next page has sessions.' }),
    }),
    prepare: async (principal, { publicId: id, page = 1, limit = 10 }) => ({
      async run() {
        const rows = await projects.sessions(principal, id, {
          after: null,
          offset: (page - 1) * limit,
          limit,
        })
        return { data: rows.slice(0, limit).map(shownSession), has_more: rows.length > limit }
      },
    }),
  })

function createdProject({ publicId: id, name, description, createdAt }: ProjectRow) {
  return { publicId: id, name, description, createdAt }
}

/** A title is the first words of a session, of any length. */
const MAX_TITLE = 200

function shownSession({ associatedMicroseconds: _, title, ...shown }: SessionRow) {
  return {
    ...shown,
    title: title === null || title.length <= MAX_TITLE ? title : `${title.slice(0, MAX_TITLE)}…`,
  }
}
