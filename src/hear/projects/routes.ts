/** Operations on projects and on their agent sessions. */
import { Type } from '@sinclair/typebox'
import { recorded } from '../../access/audit/change.ts'
import { created, noContent, type Operation, ok, operation } from '../../http/operation.ts'
import { keyset, pageOf, toPage } from '../../http/paging.ts'
import { uuidOf } from '../../http/parameters.ts'
import { projectCreated, sessionAdded } from './audit.ts'
import {
  Associate,
  Association,
  ChangeProject,
  CreateProject,
  Project,
  ProjectQuery,
  ProjectSession,
  SessionQuery,
} from './model.ts'
import type { ProjectRow, Projects, SessionRow } from './service.ts'

const PROJECTS = '/v3/rest/projects'
const PROJECT = `${PROJECTS}/{publicId}`
const SESSIONS = `${PROJECT}/agent-sessions`
const TAG = 'Projects'

const byCreation = keyset('projects', ['integer', 'uuid'])
const byAssociation = keyset('project-sessions', ['integer', 'uuid'])

const projectParameters = { publicId: uuidOf('project') }
const sessionParameters = { ...projectParameters, codingSessionId: uuidOf('agent session') }

/** Everything under `/v3/rest/projects`. */
export function projectOperations(projects: Projects): readonly Operation[] {
  return [
    listProjects(projects),
    createProject(projects),
    getProject(projects),
    changeProject(projects),
    deleteProject(projects),
    listProjectSessions(projects),
    associateSession(projects),
    dissociateSession(projects),
  ]
}

const listProjects = (projects: Projects) =>
  operation({
    id: 'listProjects',
    method: 'GET',
    path: PROJECTS,
    tag: TAG,
    summary: 'List projects',
    description: 'Newest first. A project is visible to the whole organization.',
    access: 'organizationOrUser',
    role: 'viewer',
    query: ProjectQuery,
    success: { status: 200, description: 'A page of projects', schema: pageOf(Project) },
    async handler({ principal, query }) {
      const { limit, cursor, externalKey } = query()
      const slice = { after: byCreation.decode(cursor), limit }
      const rows = await projects.list(principal.organizationId, externalKey, slice)
      const next = (row: ProjectRow) => byCreation.encode([row.createdMicroseconds, row.publicId])
      return ok(toPage(rows, limit, next, project))
    },
  })

const createProject = (projects: Projects) =>
  operation({
    id: 'createProject',
    method: 'POST',
    path: PROJECTS,
    tag: TAG,
    summary: 'Create a project',
    description:
      'What coding agents work on. With an `externalKey` the request is idempotent: the same key answers with the same project, unchanged.',
    access: 'organizationOrUser',
    role: 'analyst',
    body: CreateProject,
    example: {
      name: 'Checkout',
      description: 'The payment pages.',
      externalKey: 'github.com/example/checkout',
    },
    success: { status: 201, description: 'The project', schema: Project },
    async handler(call) {
      const row = await projects.create(
        call.principal.organizationId,
        await call.body(),
        projectCreated(call),
      )
      return created(`${PROJECTS}/${row.publicId}`, project(row))
    },
  })

const getProject = (projects: Projects) =>
  operation({
    id: 'getProject',
    method: 'GET',
    path: PROJECT,
    params: projectParameters,
    tag: TAG,
    summary: 'Read a project',
    description: 'A project is visible to the whole organization.',
    access: 'organizationOrUser',
    role: 'viewer',
    query: Type.Object({}),
    success: { status: 200, description: 'The project', schema: Project },
    errors: ['project_not_found'],
    async handler({ principal, id, query }) {
      const row = await projects.get(principal.organizationId, id('publicId', 'project_not_found'))
      query()
      return ok(project(row))
    },
  })

const changeProject = (projects: Projects) =>
  operation({
    id: 'changeProject',
    method: 'PATCH',
    path: PROJECT,
    params: projectParameters,
    tag: TAG,
    summary: 'Change a project',
    description: 'Changes the name, the description, or both. An absent member keeps its value.',
    access: 'organizationOrUser',
    role: 'analyst',
    body: ChangeProject,
    example: { name: 'Checkout 2026' },
    success: { status: 200, description: 'The changed project', schema: Project },
    errors: ['project_not_found'],
    async handler(call) {
      const publicId = call.id('publicId', 'project_not_found')
      const also = recorded(call, 'project.updated', () => publicId)
      return ok(project(await projects.change(call.principal.organizationId, publicId, call.body, also)))
    },
  })

const deleteProject = (projects: Projects) =>
  operation({
    id: 'deleteProject',
    method: 'DELETE',
    path: PROJECT,
    params: projectParameters,
    tag: TAG,
    summary: 'Delete a project',
    description: 'Deletes the project and its associations. Its agent sessions stay.',
    access: 'organizationOrUser',
    role: 'analyst',
    success: { status: 204, description: 'The project is deleted' },
    errors: ['project_not_found'],
    async handler(call) {
      const publicId = call.id('publicId', 'project_not_found')
      await projects.remove(
        call.principal.organizationId,
        publicId,
        recorded(call, 'project.deleted', () => publicId),
      )
      return noContent()
    },
  })

const listProjectSessions = (projects: Projects) =>
  operation({
    id: 'listProjectSessions',
    method: 'GET',
    path: SESSIONS,
    params: projectParameters,
    tag: TAG,
    summary: 'List the agent sessions of a project',
    description:
      'The latest association first. Lists the sessions that the caller may see: a user’s own, and those that an API key uploaded.',
    access: 'organizationOrUser',
    role: 'viewer',
    query: SessionQuery,
    success: { status: 200, description: 'A page of agent sessions', schema: pageOf(ProjectSession) },
    errors: ['project_not_found'],
    async handler({ principal, id, query }) {
      const publicId = id('publicId', 'project_not_found')
      await projects.get(principal.organizationId, publicId)
      const { limit, cursor } = query()
      const position = { after: byAssociation.decode(cursor), limit, offset: 0 }
      const rows = await projects.sessions(principal, publicId, position)
      const next = (row: SessionRow) => byAssociation.encode([row.associatedMicroseconds, row.sessionId])
      return ok(toPage(rows, limit, next, session))
    },
  })

const associateSession = (projects: Projects) =>
  operation({
    id: 'associateSession',
    method: 'POST',
    path: SESSIONS,
    params: projectParameters,
    tag: TAG,
    summary: 'Associate an agent session with a project',
    description:
      'Idempotent. A session may belong to several projects. An association does not change who may see the session.',
    access: 'organizationOrUser',
    role: 'analyst',
    body: Associate,
    example: { sessionId: '01890a5d-ac96-774b-bcce-b302099a8057' },
    success: { status: 200, description: 'The session belongs to the project', schema: Association },
    errors: ['project_not_found', 'coding_session_not_found'],
    async handler(call) {
      const { principal } = call
      const publicId = call.id('publicId', 'project_not_found')
      await projects.get(principal.organizationId, publicId)
      const { sessionId } = await call.body()
      return ok(
        await projects.associate(principal, publicId, sessionId, sessionAdded(call, publicId, sessionId)),
      )
    },
  })

const dissociateSession = (projects: Projects) =>
  operation({
    id: 'dissociateSession',
    method: 'DELETE',
    path: `${SESSIONS}/{codingSessionId}`,
    params: sessionParameters,
    tag: TAG,
    summary: 'Remove an agent session from a project',
    description: 'Ends the association. The session stays.',
    access: 'organizationOrUser',
    role: 'analyst',
    success: { status: 204, description: 'The session does not belong to the project' },
    errors: ['project_not_found', 'coding_session_not_found'],
    async handler(call) {
      const { principal } = call
      const publicId = call.id('publicId', 'project_not_found')
      await projects.get(principal.organizationId, publicId)
      const sessionId = call.id('codingSessionId', 'coding_session_not_found')
      const also = recorded(
        call,
        'project.session_removed',
        () => publicId,
        () => ({ sessionId }),
      )
      await projects.dissociate(principal, publicId, sessionId, also)
      return noContent()
    },
  })

function project({ createdMicroseconds: _, ...shown }: ProjectRow) {
  return shown
}

function session({ associatedMicroseconds: _, ...shown }: SessionRow) {
  return shown
}
