/**
 * Use cases of projects: what coding agents work on, with their uploaded sessions.
 *
 * A project belongs to the whole organization. A session keeps its own visibility: a project lists only the sessions that the
 * caller may see.
 */

import { type Alongside, together } from '../../platform/db/alongside.ts'
import { withinReach } from '../../platform/db/bounded-scan.ts'
import type { Position, TimeSlice } from '../../platform/db/keyset.ts'
import type { Query, Sql } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import type { NewId } from '../../platform/ids.ts'
import { invalid } from '../../platform/validation/json.ts'
import { nameOf } from '../../platform/validation/names.ts'
import type { CodingSessions, Viewer } from '../coding-sessions/service.ts'
import type { Association, ChangeProject, CreateProject } from './model.ts'
import * as store from './store.ts'

export type { ProjectRow, SessionRow } from './store.ts'
export type Projects = ReturnType<typeof createProjects>

export interface ProjectsDeps {
  readonly sql: Sql
  readonly reads: Query
  readonly newId: NewId
  readonly codingSessions: Pick<CodingSessions, 'visibleSession'>
}

export function createProjects({ sql, reads, newId, codingSessions }: ProjectsDeps) {
  const { visibleSession } = codingSessions
  async function get(organizationId: string, id: string): Promise<store.ProjectRow> {
    return (await store.findProject(reads, organizationId, id)) ?? noProject()
  }

  return {
    /** The same `externalKey` is the same project: it is answered unchanged, and `also` does not run. @throws AppError 400 */
    async create(
      organizationId: string,
      input: CreateProject,
      also?: Alongside<store.ProjectRow>,
    ): Promise<store.ProjectRow> {
      const { name, description, externalKey } = draftOf(input)
      // A project that is deleted between the two statements is created after all.
      for (let attempt = 0; attempt < 3; attempt++) {
        const row = { id: newId(), organizationId, name, description, externalKey }
        const created = await together(sql, onlyIfChanged(also), (query) => store.insertProject(query, row))
        if (created !== undefined) return created
        const [known] = await store.projectsWithKey(sql, organizationId, externalKey ?? '')
        if (known !== undefined) return known
      }
      throw new AppError('unavailable', 'The project is being changed by others. Try again shortly.')
    },

    /** @throws AppError 400 if `create` would */
    check: (input: CreateProject): void => void draftOf(input),

    /** @throws AppError 404 `project_not_found` */
    get,

    /** Newest first, with one row more than the limit. */
    list: (organizationId: string, externalKey: string | undefined, slice: TimeSlice) =>
      externalKey === undefined
        ? store.listProjects(reads, organizationId, slice)
        : store.projectsWithKey(reads, organizationId, externalKey),

    /** `readChange` is called after the project was found. @throws AppError 404; errors of `readChange`; 400 */
    async change(
      organizationId: string,
      id: string,
      readChange: () => Promise<ChangeProject>,
      also?: Alongside<store.ProjectRow>,
    ): Promise<store.ProjectRow> {
      if ((await store.findProject(sql, organizationId, id)) === undefined) noProject()
      const { name, description } = await readChange()
      const change = { name: name === undefined ? undefined : nameOf('name', name), description }
      return together(
        sql,
        also,
        async (query) => (await store.updateProject(query, organizationId, id, change)) ?? noProject(),
      )
    },

    /** Its sessions stay. @throws AppError 404 `project_not_found` */
    remove: (organizationId: string, id: string, also?: Alongside): Promise<void> =>
      together(sql, also, async (query) => {
        if (!(await store.deleteProject(query, organizationId, id))) noProject()
      }),

    /** @throws AppError 404 as `associate` does */
    async assertAssociable(viewer: Viewer, projectId: string, sessionId: string): Promise<void> {
      const { organizationId } = viewer
      await assertTarget(reads, visibleSession(reads, viewer), { organizationId, projectId, sessionId })
    },

    /** Idempotent: `also` runs if it changed something. @throws AppError 404 `project_not_found`, `coding_session_not_found` */
    async associate(
      viewer: Viewer,
      projectId: string,
      sessionId: string,
      also?: Alongside,
    ): Promise<Association> {
      const target = { organizationId: viewer.organizationId, projectId, sessionId }
      const isNew = await together(sql, onlyIfChanged(also), (query) =>
        store.insertAssociation(query, visibleSession(query, viewer), target),
      )
      if (isNew) return { associated: true, alreadyAssociated: false }
      const { associated } = await assertTarget(sql, visibleSession(sql, viewer), target)
      if (associated) return { associated: true, alreadyAssociated: true }
      throw new AppError('unavailable', 'The project is being changed by others. Try again shortly.')
    },

    /** @throws AppError 404 `project_not_found`, `coding_session_not_found` */
    async dissociate(viewer: Viewer, projectId: string, sessionId: string, also?: Alongside): Promise<void> {
      const target = { organizationId: viewer.organizationId, projectId, sessionId }
      const isGone = await together(sql, onlyIfChanged(also), (query) =>
        store.deleteAssociation(query, visibleSession(query, viewer), target),
      )
      if (isGone) return
      await get(viewer.organizationId, projectId)
      throw noSession()
    },

    /** The latest association first, with one row more than the limit. @throws AppError 404 `project_not_found` */
    async sessions(
      viewer: Viewer,
      projectId: string,
      position: Position<readonly [microseconds: number, id: string]>,
    ): Promise<readonly store.SessionRow[]> {
      const { organizationId } = viewer
      await get(organizationId, projectId)
      return withinReach(position, (place) =>
        store.listSessions(reads, visibleSession(reads, viewer), { organizationId, projectId }, place),
      )
    },
  }
}

function onlyIfChanged<T>(also: Alongside<T> | undefined): Alongside<T | undefined | false> | undefined {
  if (also === undefined) return undefined
  return async (tx, result) => {
    if (result !== undefined && result !== false) await also(tx, result)
  }
}

function draftOf({ name, description = null, externalKey = null }: CreateProject) {
  if (externalKey !== null && externalKey.trim() === '')
    throw invalid([{ path: 'externalKey', code: 'blank', message: 'must not be blank' }])
  return { name: nameOf('name', name), description, externalKey }
}

async function assertTarget(query: Query, visible: store.Condition, target: store.Target) {
  const found = await store.findTarget(query, visible, target)
  if (!found.projectExists) noProject()
  if (!found.sessionVisible) throw noSession()
  return found
}

function noProject(): never {
  throw new AppError('project_not_found', 'There is no such project.')
}

function noSession(): AppError {
  return new AppError('coding_session_not_found', 'There is no such agent session.')
}
