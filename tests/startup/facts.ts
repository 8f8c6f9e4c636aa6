/** Facts that start-up tests read outside the service: child processes, files, demo data. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The process id of the PostgreSQL server of a data folder, from its own lock file. */
export function postgresPid(dataDir: string): number {
  return Number(readFileSync(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
}

/** The process id of the Redis server of a data folder, or null if none runs. */
export async function redisPid(dataDir: string): Promise<number | null> {
  const folder = join(dataDir, 'redis')
  for (const name of readdirSync(folder).filter((entry) => entry.endsWith('.sock'))) {
    const answer = await Bun.$`redis-cli -s ${join(folder, name)} info server`.quiet().nothrow().text()
    const pid = /process_id:(\d+)/.exec(answer)?.[1]
    if (pid !== undefined) return Number(pid)
  }
  return null
}

export interface Demo {
  readonly apiKey: string
  readonly agentKey: string
  readonly agentSecret: string
}

export function demoCredentials(dataDir: string): Demo {
  return JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
}

/** The names of the agent applications that the demo organization has. */
export async function applicationKeys(baseUrl: string, { apiKey }: Demo): Promise<readonly string[]> {
  const response = await fetch(`${baseUrl}/v3/rest/agent-applications`, {
    headers: { 'x-service-api-key': apiKey },
  })
  const { data } = (await response.json()) as { data: { agentKey: string }[] }
  return data.map(({ agentKey }) => agentKey)
}

/** An ingest request of one event, as JSON text. */
export function oneEvent({ agentKey }: Demo, externalSessionId: string): string {
  return JSON.stringify({
    agentKey,
    externalSessionId,
    events: [
      {
        externalEventId: 'e1',
        sequence: 0,
        revision: 1,
        occurredAt: '2026-01-02T03:04:05Z',
        type: 'user_message',
        content: 'Hello',
      },
    ],
  })
}

/** Command lines that contain the folder: the servers running in it. */
export function processesNaming(folder: string): readonly string[] {
  const { stdout } = Bun.spawnSync(['ps', '-axww', '-o', 'command='])
  return stdout
    .toString()
    .split('\n')
    .filter((line) => line.includes(folder))
}

/** The command lines of the child processes of a process. */
export function childrenOf(pid: number): readonly string[] {
  const { stdout } = Bun.spawnSync(['ps', '-axww', '-o', 'ppid=,command='])
  const lines = stdout
    .toString()
    .split('\n')
    .map((line) => line.trim())
  return lines.filter((line) => line.startsWith(`${pid} `)).map((line) => line.slice(`${pid} `.length))
}
