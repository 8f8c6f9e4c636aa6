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
  const ports = proxied.map(() => freePort())
  const urls = ports.map((port) => `http://127.0.0.1:${port}`)
  const { stop } = await startNginxWith(configOf(target, proxied, ports), urls[0] ?? '')
  return { urls, stop }
}

/** @param text a configuration with `http {` @param url answers when it has started */
export async function startNginxWith(text: string, url: string) {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-nginx-'))
  // Started by root, its workers are another user.
  chmodSync(folder, 0o755)
  const config = join(folder, 'nginx.conf')
  writeFileSync(config, inFolder(folder, text))
  const child = Bun.spawn(['nginx', '-p', folder, '-e', join(folder, 'error.log'), '-c', config], {
    env: { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  await eventually(() => answers(url), { deadlineMs: 20_000 })
  return {
    async stop() {
      child.kill('SIGTERM')
      await child.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** With all that it writes in the folder, as a process of its caller. */
function inFolder(folder: string, text: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off;
    worker_processes 1;
    pid ${folder}/nginx.pid;
    ${text.replace('http {', `http { access_log off; ${kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ')}`)}`
}

function configOf(target: string, proxied: readonly Proxied[], ports: readonly number[]): string {
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
  return `events {}
    http {
      ${servers.join('\n')}
    }`
}

const answers = (url: string) =>
  fetch(url).then(
    () => true,
    () => false,
  )
