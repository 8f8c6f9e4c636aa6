/** An https URL reaches the checked address only if it presents a certificate for the name, with and without a proxy. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const NAME = 'media.example.com'

let folder: string
let origin: Bun.Server<undefined>
let proxy: ReturnType<typeof startProxy>

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'earshot-certificates-'))
  makeCertificates()
  origin = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    tls: { cert: Bun.file(join(folder, 'certificate')), key: Bun.file(join(folder, 'key')) },
    fetch: ({ headers }) =>
      new Response(headers.get('host'), { headers: { 'content-type': 'audio/wav', connection: 'close' } }),
  })
  proxy = startProxy()
})
afterAll(async () => {
  proxy?.listener.stop(true)
  await origin?.stop(true)
  rmSync(folder, { recursive: true, force: true })
})

/** A certificate for the name, issued by an authority that a child process can trust. */
function makeCertificates(): void {
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
  writeFileSync(join(folder, 'extensions'), `subjectAltName=DNS:${NAME}\n`)
  const script = [
    `openssl req -x509 ${key} -keyout authority-key -out authority -subj /CN=Authority -addext basicConstraints=critical,CA:TRUE`,
    `openssl req ${key} -keyout key -out request -subj /CN=${NAME}`,
    'openssl x509 -req -in request -CA authority -CAkey authority-key -CAcreateserial -extfile extensions -out certificate',
  ].join(' && ')
  const { success, stderr } = Bun.spawnSync(['sh', '-c', script], { cwd: folder, stderr: 'pipe' })
  if (!success) throw new Error(stderr.toString())
}

/** Forwards everything to the origin and records the first line of each connection. */
function startProxy() {
  const asked: string[] = []
  const listener = Bun.listen<{ origin?: Bun.Socket<undefined> }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = {}
      },
      async data(socket, chunk) {
        if (socket.data.origin !== undefined) return void socket.data.origin.write(chunk)
        asked.push(chunk.toString('latin1').split('\r\n', 1)[0] ?? '')
        socket.data.origin = await Bun.connect({
          hostname: '127.0.0.1',
          port: origin.port ?? 0,
          socket: { data: (_, answer) => void socket.write(answer), close: () => void socket.end() },
        })
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
      },
      close: (socket) => void socket.data.origin?.end(),
    },
  })
  return { listener, asked }
}

/** The result in a process that trusts the authority and resolves every name to the origin. */
async function get(name: string, environment: Readonly<Record<string, string>>): Promise<string> {
  const module = new URL('../../src/platform/net/fetch-public.ts', import.meta.url).pathname
  const policy = new URL('../../src/platform/net/outbound-url.ts', import.meta.url).pathname
  const script = `
    import { createFetchPublic } from ${JSON.stringify(module)}
    import { createOutboundPolicy } from ${JSON.stringify(policy)}
    const fetchPublic = createFetchPublic({
      resolve: async () => ['127.0.0.1'],
      policy: createOutboundPolicy(['127.0.0.1/32']),
    })
    const request = { signal: new AbortController().signal, maxBytes: 1_000, accepts: () => true }
    try {
      const { body } = await fetchPublic('https://${name}:${origin.port}/', request)
      process.stdout.write(Buffer.concat(await Array.fromAsync(body)))
    } catch (error) {
      process.stdout.write(error.code + (error.retryable ? ' again' : ''))
    }`
  const child = Bun.spawn([process.execPath, '-e', script], {
    env: { PATH: process.env.PATH, NODE_EXTRA_CA_CERTS: join(folder, 'authority'), ...environment },
    stderr: 'inherit',
  })
  return new Response(child.stdout).text()
}

describe.each([
  ['without a proxy', () => ({})],
  ['behind the proxy of the environment', () => ({ HTTPS_PROXY: `http://127.0.0.1:${proxy.listener.port}` })],
])('%s', (_, environment) => {
  test('an origin with a certificate for its name is reached', async () => {
    expect(await get(NAME, environment())).toBe(`${NAME}:${origin.port}`)
  })

  test('an origin with a certificate for another name is not reached', async () => {
    expect(await get('other.example.com', environment())).toBe('url_unreachable')
  })
})

test('a proxy is asked for the checked address, never for a name', () => {
  const { asked } = proxy
  expect(asked.length).toBeGreaterThan(0)
  expect(new Set(asked)).toEqual(new Set([`CONNECT 127.0.0.1:${origin.port} HTTP/1.1`]))
})
