/** The tools of coding agents: which there are, who serves them, and what is deleted after a while. */
import type { MaintenanceTask } from '../../actors/types.ts'
import type { Projects } from '../../hear/projects/service.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Ask } from '../../understand/ask/service.ts'
import type { Insight } from '../../understand/counts/service.ts'
import type { Timeline } from '../../understand/counts/timeline/service.ts'
import type { Search } from '../../understand/search/service.ts'
import { createLegacySessions, deleteExpired } from './legacy/sessions.ts'
import type { Serving } from './serving.ts'
import { askTool } from './tools/ask-tool.ts'
import { insightTools } from './tools/insight-tools.ts'
import { projectTools } from './tools/project-tools.ts'
import { type SessionToolsDeps, sessionTools } from './tools/session-tools.ts'
import { timelineTool } from './tools/timeline-tool.ts'

export interface Tools {
  serving(): Promise<Serving>
  /** Loads the code of the protocol, which takes about 150 ms, so that no request waits for it. */
  load(): Promise<unknown>
  /** Ends calls that wait for a user, and open streams. Stop the tools before the HTTP server. */
  stop(): Promise<void>
}

export interface ToolsDeps extends Pick<Deps, 'sql' | 'log' | 'config'> {
  readonly projects: Projects
  readonly insight: Insight
  readonly timeline: Timeline
  readonly search: Search
  readonly ask: Ask
  readonly codingSessions: SessionToolsDeps['sessions']
  readonly sessionUploads: SessionToolsDeps['uploads']
}

export function createTools({
  projects,
  codingSessions,
  sessionUploads,
  insight,
  timeline,
  search,
  ask,
  ...deps
}: ToolsDeps): Tools {
  const tools = [
    ...projectTools(projects),
    ...sessionTools({ sessions: codingSessions, uploads: sessionUploads }),
    ...insightTools({ insight, search }, deps.config.publicBaseUrl),
    askTool(ask, deps.config.publicBaseUrl),
    timelineTool(timeline, deps.config.publicBaseUrl),
  ]
  const sessions = createLegacySessions(deps)
  let loaded: Promise<Serving> | null = null
  return {
    load: () => import('./serving.ts'),
    serving() {
      loaded ??= import('./serving.ts').then(({ createServing }) =>
        createServing({ ...deps, tools, sessions }),
      )
      loaded.catch(() => {
        loaded = null
      })
      return loaded
    },
    async stop() {
      sessions.stop()
      await (await loaded)?.close()
    },
  }
}

const HOUR = 3_600

export function toolsMaintenance({ sql }: Pick<Deps, 'sql'>): readonly MaintenanceTask[] {
  return [
    { name: 'expired_tool_sessions', everySeconds: HOUR, run: (stopping) => deleteExpired(sql, stopping) },
  ]
}
