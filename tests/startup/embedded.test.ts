/** The start without configuration, through the whole life of one data folder: killed, crashed, joined, stopped. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { TEXT_PROCESS } from '../../src/analysis/analyze/text-process.ts'
import { eventually } from '../support/eventually.ts'
import { type Service, useServices } from '../support/process.ts'
import { createUpload } from '../support/uploads.ts'
import { submission } from '../support/website.ts'
import {
  applicationKeys,
  childrenOf,
  demoCredentials,
  oneEvent,
  postgresPid,
  processesNaming,
  redisPid,
} from './facts.ts'

setDefaultTimeout(300_000)

const hasRedis = Bun.which('redis-server') !== null && Bun.which('redis-cli') !== null

describe('embedded start', () => {
  const services = useServices()
  const dataDir = join(services.folder, 'data')
  let service: Service

  beforeAll(async () => {
    service = await services.start({ env: { WARM_UP: 'false' } })
  })

  test('an empty folder: the database is created and migrated, and /health and /ready are 200', async () => {
    expect(await (await fetch(`${service.baseUrl}/health`)).json()).toEqual({ status: 'ok' })
    const ready = await fetch(`${service.baseUrl}/ready`)
    expect(ready.status).toBe(200)
    expect(await ready.json()).toMatchObject({
      status: 'ready',
      role: 'all',
      checks: {
        database: { status: 'ok', kind: 'PostgreSQL (embedded)' },
        migrations: { status: 'ok' },
        notifier: { status: 'ok', kind: hasRedis ? 'redis' : 'postgres' },
      },
    })
  })

  test('with WARM_UP=false it starts no process for texts before the first one', () => {
    expect(childrenOf(service.pid).some((line) => line.includes(TEXT_PROCESS))).toBe(false)
  })

  test('the banner shows the addresses of Swagger UI and the credentials, and what runs', () => {
    expect(service.output()).toContain(`${dataDir}/credentials.json`)
    expect(service.output()).toMatch(/Swagger UI +http:\S+\/docs\n/)
    expect(service.output()).toMatch(/Console +http:\S+\/console\n/)
    expect(service.output()).toMatch(/Sign in +http:\S+\/sign-in\/link\?token=esl_\S+&to=%2Fconsole\n/)
    expect(service.output()).toContain(`PostgreSQL (embedded, ${dataDir}/postgres)`)
  })

  test('only the owner can read the file with the demo credentials', () => {
    expect(statSync(join(dataDir, 'credentials.json')).mode & 0o777).toBe(0o600)
  })

  test('other users cannot enter the folder of the socket', () => {
    expect(statSync(join(dataDir, 'postgres')).mode & 0o777).toBe(0o700)
  })

  test('other users can read nothing in DATA_DIR: credentials, keys, mail, media, sockets, logs', async () => {
    const { apiKey } = demoCredentials(dataDir)
    const { uploadUrl } = await createUpload(service.baseUrl, apiKey, { fileSize: 5 })
    expect((await fetch(uploadUrl, { method: 'PUT', body: 'RIFF!' })).status).toBe(201)
    const form = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(submission(['email', 'name'])),
    }
    expect((await fetch(`${service.baseUrl}/api/builder-waitlist`, form)).status).toBe(200)
    await eventually(() => existsSync(join(dataDir, 'mail')))
    const names = readdirSync(dataDir, { recursive: true, encoding: 'utf8' })
    expect(names).toContain('keys')
    expect(names.some((name) => name.startsWith('media/'))).toBe(true)
    const open = names
      .map((name) => [name, statSync(join(dataDir, name), { throwIfNoEntry: false })] as const)
      // A file inside a closed folder is protected, too.
      .filter(([name, stat]) => !name.includes('/') && stat !== undefined && (stat.mode & 0o077) !== 0)
      .map(([name]) => name)
    expect(open.filter((name) => name !== 'bin')).toEqual([])
    // The executable unpacks programs there. They are no secret, and the user of the server must be able to run them.
    if (open.includes('bin')) expect(statSync(join(dataDir, 'bin')).mode & 0o022).toBe(0)
    expect(statSync(dataDir).mode & 0o066).toBe(0)
  })

  test('/metrics is Prometheus text labelled by route, never by path', async () => {
    await fetch(`${service.baseUrl}/no/such/place`)
    const text = await eventually(async () => {
      const answer = await (await fetch(`${service.baseUrl}/metrics`)).text()
      return answer.includes('route="unknown"') && answer
    })
    expect(text).toContain('# TYPE earshot_http_request_seconds histogram')
    expect(text).not.toContain('/no/such/place')
  })

  test('a second service on the same folder is refused with one line; the first continues', async () => {
    const second = await services.start({ ready: 'none' })
    expect(await second.exited).toBe(1)
    expect(second.output()).toBe(
      `DATA_DIR is ${JSON.stringify(dataDir)}, but another Earshot process (${service.pid}) serves it: stop that one, or choose another folder\n`,
    )
    expect((await fetch(`${service.baseUrl}/ready`)).status).toBe(200)
  })

  test('kill -9: an immediate restart has the data', async () => {
    await service.kill('SIGKILL')
    service = await services.start()
    expect(await applicationKeys(service.baseUrl, demoCredentials(dataDir))).toEqual(['demo'])
  })

  test('PostgreSQL killed while the service runs: it is restarted', async () => {
    const before = postgresPid(dataDir)
    process.kill(before, 'SIGKILL')
    await eventually(
      () => existsSync(join(dataDir, 'postgres/data/postmaster.pid')) && postgresPid(dataDir) !== before,
      {
        deadlineMs: 20_000,
      },
    )
    await eventually(async () => (await fetch(`${service.baseUrl}/ready`)).ok, { deadlineMs: 20_000 })
    expect(await applicationKeys(service.baseUrl, demoCredentials(dataDir))).toEqual(['demo'])
  })

  test('after the restart of PostgreSQL the folder is still locked', async () => {
    const second = await services.start({ ready: 'none' })
    expect(await second.exited).toBe(1)
    expect(second.output()).toContain(`another Earshot process (${service.pid}) serves it`)
  })

  test.if(hasRedis)('Redis killed while the service runs: it is restarted', async () => {
    const before = await redisPid(dataDir)
    process.kill(before ?? 0, 'SIGKILL')
    await eventually(async () => ![before, null].includes(await redisPid(dataDir)))
    await eventually(async () => (await fetch(`${service.baseUrl}/ready`)).ok)
  })

  test('everything killed at once, as in a power loss: the next start has the data', async () => {
    const postgres = postgresPid(dataDir)
    const killed = service.kill('SIGKILL')
    process.kill(postgres, 'SIGKILL')
    await killed
    service = await services.start()
    expect(postgresPid(dataDir)).not.toBe(postgres)
    expect(await applicationKeys(service.baseUrl, demoCredentials(dataDir))).toEqual(['demo'])
  })

  test('SIGTERM: the running request is answered, the exit code is 0, and no child process is left', async () => {
    const demo = demoCredentials(dataDir)
    const request = await slowRequest(service.baseUrl, demo.agentSecret, oneEvent(demo, 's1'))
    const exited = service.kill('SIGTERM')
    await eventually(() => service.output().includes('"signal":"SIGTERM"'))
    expect(await request.finish()).toStartWith('HTTP/1.1 200')
    expect(await exited).toBe(0)
    expect(processesNaming(dataDir)).toEqual([])
    expect(existsSync(join(dataDir, 'postgres/data/postmaster.pid'))).toBe(false)
  })
})

/** Sends a request without its last byte; `finish` sends that byte and resolves with the response. */
async function slowRequest(baseUrl: string, secret: string, body: string) {
  const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1')
  let answer = ''
  const ended = Promise.withResolvers<string>()
  socket.on('data', (bytes) => {
    answer += bytes.toString()
    ended.resolve(answer)
  })
  socket.on('error', ended.reject)
  socket.on('close', () => ended.resolve(answer))
  const head = [
    'POST /v3/rest/agent-conversations/ingest HTTP/1.1',
    'host: localhost',
    'content-type: application/json',
    `x-service-agent-key: ${secret}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  await new Promise<void>((sent) =>
    socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, -1)}`, () => sent()),
  )
  // Once a later request is answered, the service has received the earlier one.
  await fetch(`${baseUrl}/health`)
  return {
    finish() {
      socket.write(body.slice(-1))
      return ended.promise
    },
  }
}
