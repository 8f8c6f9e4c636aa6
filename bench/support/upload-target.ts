/** Upload targets: the service with each protocol, a peer, and the limit. curl is the client for all. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { loadConfig } from '../../src/app/config.ts'
import { createContainer } from '../../src/app/container.ts'
import { createFeatures } from '../../src/app/features.ts'
import type { Environment } from './environment.ts'

export interface OpenUpload {
  readonly url: string
  readonly method: 'PATCH' | 'PUT'
  readonly headers: Readonly<Record<string, string>>
}

export interface Target {
  readonly name: string
  /** Whether bytes are on the disk before they are acknowledged. */
  readonly durable: boolean
  readonly pid: number
  /** Creates an upload of this number of bytes. */
  open(bytes: number): Promise<OpenUpload>
}

const TUS = { 'tus-resumable': '1.0.0' }
const PATCH_FROM_START = {
  ...TUS,
  'content-type': 'application/offset+octet-stream',
  'upload-offset': '0',
}

/** An API key, created without the service. */
export async function createKey({ databaseUrl }: Environment): Promise<string> {
  const config = loadConfig({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent' })
  const container = createContainer(config, { database: { url: databaseUrl }, redis: null }, 'bench')
  try {
    const { identity } = createFeatures(container)
    const { id } = await identity.createOrganization('bench')
    return (await identity.createApiKey(id, 'bench')).apiKey
  } finally {
    await container.close()
  }
}

interface Process {
  readonly baseUrl: string
  readonly pid: number
}

export function earshotTarget(service: Process, apiKey: string, method: OpenUpload['method']): Target {
  const post = async (path: string, body: unknown) => {
    const response = await fetch(`${service.baseUrl}/v3/rest/recordings${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-service-api-key': apiKey },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    return (await response.json()) as { readonly id: string; readonly uploadUrl: string }
  }
  return {
    name: method === 'PATCH' ? 'Earshot, tus' : 'Earshot, plain PUT',
    durable: true,
    pid: service.pid,
    async open(fileSize) {
      const { id } = await post('', {})
      const { uploadUrl } = await post(`/${id}/uploads`, { fileName: 'talk.mp4', fileSize })
      return { url: uploadUrl, method, headers: method === 'PATCH' ? PATCH_FROM_START : {} }
    },
  }
}

export function tusTarget({ baseUrl, pid }: Process): Target {
  return {
    name: '@tus/server, Node.js',
    durable: false,
    pid,
    async open(bytes) {
      const headers = { ...TUS, 'upload-length': String(bytes) }
      const { headers: answered } = await fetch(`${baseUrl}/files`, { method: 'POST', headers })
      const location = answered.get('location')
      if (location === null) throw new Error('the peer made no upload')
      return { url: new URL(location, baseUrl).href, method: 'PATCH', headers: PATCH_FROM_START }
    },
  }
}

export function bareTarget({ baseUrl, pid }: Process, durable: boolean): Target {
  const query = durable ? '?sync' : ''
  return {
    name: durable ? 'bare Bun.serve, fsync' : 'bare Bun.serve',
    durable,
    pid,
    open: async () => ({
      url: `${baseUrl}/files/${crypto.randomUUID()}${query}`,
      method: 'PUT',
      headers: {},
    }),
  }
}

/** Sends the file. @throws Error unless the response is a success */
export async function send(path: string, { url, method, headers }: OpenUpload): Promise<void> {
  const lines = Object.entries({ ...headers, expect: '' }).flatMap(([name, value]) => [
    '--header',
    `${name}: ${value}`.trim(),
  ])
  const child = Bun.spawn(
    ['curl', '--silent', '--show-error', '--fail', '--request', method, '--upload-file', path, ...lines, url],
    { stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' },
  )
  const [complaint, code] = await Promise.all([new Response(child.stderr).text(), child.exited])
  if (code !== 0) throw new Error(complaint.trim())
}

/** Installs the packages of the peer next to the benchmarks on first use; the product does not depend on them. */
export function installPeer(): void {
  const folder = resolve(import.meta.dir, '..')
  if (existsSync(`${folder}/node_modules/@tus/server`)) return
  const { success } = Bun.spawnSync([process.execPath, 'install', '--frozen-lockfile'], { cwd: folder })
  if (!success) throw new Error('the packages of bench/package.json could not be installed')
}
