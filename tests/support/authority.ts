/** A private certificate authority, made for one test by OpenSSL, and the certificates that it signs. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Paths of PEM files. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

export interface Authority {
  /** The certificate of the authority. */
  readonly root: string
  /** For a server at `localhost` and 127.0.0.1, or for another name. `days`: negative for a certificate that has expired. */
  issue(name: string, options?: { readonly days?: number; readonly password?: string }): Promise<Certificate>
  remove(): Promise<void>
}

export async function createAuthority(): Promise<Authority> {
  const folder = await mkdtemp(join(tmpdir(), 'earshot-authority-'))
  const path = (name: string) => join(folder, name)
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  const [root, rootKey] = [path('root.pem'), path('root-key.pem')]
  await openssl([
    ...['req', '-x509', '-nodes', '-days', '2', '-subj', '/CN=Test Authority'],
    ...curve,
    ...['-keyout', rootKey, '-out', root],
  ])
  let issued = 0
  return {
    root,
    async issue(name, { days = 1, password } = {}) {
      issued++
      const [cert, key, request, names] = ['pem', 'key', 'csr', 'txt'].map((end) =>
        path(`${issued}.${end}`),
      ) as [string, string, string, string]
      const cipher = password === undefined ? ['-nodes'] : ['-passout', `pass:${password}`]
      await openssl([
        'req',
        '-new',
        '-subj',
        `/CN=${name}`,
        ...cipher,
        ...curve,
        '-keyout',
        key,
        '-out',
        request,
      ])
      const address = name === 'localhost' ? ',IP:127.0.0.1,IP:::1' : ''
      await writeFile(names, `subjectAltName=DNS:${name}${address}\n`)
      const period =
        days > 0
          ? ['-days', String(days)]
          : ['-not_before', '20200101000000Z', '-not_after', '20200102000000Z']
      await openssl([
        ...['x509', '-req', '-in', request, '-CA', root, '-CAkey', rootKey, '-CAcreateserial'],
        ...period,
        ...['-extfile', names, '-out', cert],
      ])
      return { cert, key }
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

async function openssl(args: readonly string[]): Promise<void> {
  const { exited, stderr } = Bun.spawn(['openssl', ...args], { stdout: 'ignore', stderr: 'pipe' })
  if ((await exited) !== 0) throw new Error(`openssl ${args[0]}: ${await new Response(stderr).text()}`)
}
