/** nginx in front of a service. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../crash/support/private-postgres.ts'
import { eventually } from './eventually.ts'

export interface Proxied {
  /** As `client_max_body_size` takes it, such as `1k`; null: nginx's default, 1 MB. */
  readonly limit: string | null
  /** Whether nginx reads a whole body before it passes it on. */
  readonly buffering: boolean
}

/** One server for each of `proxied`, in their order, all in front of `target`. */
export async function startNginx(target: string, proxied: readonly Proxied[]) {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-nginx-'))
  // Started by root, its workers are another user.
  chmodSync(folder, 0o755)
  const ports = proxied.map(() => freePort())
  const config = join(folder, 'nginx.conf')
  writeFileSync(config, configOf(folder, target, proxied, ports))
  const child = Bun.spawn(['nginx', '-p', folder, '-e', join(folder, 'error.log'), '-c', config], {
    env: { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  const urls = ports.map((port) => `http://127.0.0.1:${port}`)
  await eventually(() => answers(urls[0] ?? ''), { deadlineMs: 20_000 })
  return {
    urls,
    async stop() {
      child.kill('SIGTERM')
      await child.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function configOf(
  folder: string,
  target: string,
  proxied: readonly Proxied[],
  ports: readonly number[],
): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const servers = proxied.map(
    ({ limit, buffering }, at) => `server {
      listen 127.0.0.1:${ports[at]};
      ${limit === null ? '' : `client_max_body_size ${limit};`}
      location / {
        proxy_pass ${target};
        proxy_http_version 1.1;
        proxy_request_buffering ${buffering ? 'on' : 'off'};
      }
    }`,
  )
  return `daemon off;
    worker_processes 1;
    pid ${folder}/nginx.pid;
    events {}
    http {
      access_log off;
      ${kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join('\n')}
      ${servers.join('\n')}
    }`
}

const answers = (url: string) =>
  fetch(url).then(
    () => true,
    () => false,
  )
