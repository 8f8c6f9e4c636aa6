/** Absolute URLs of this service, for its clients. */
import type { Config } from '../config.ts'
import { originOf } from './address.ts'

/** The address of this service for a person at this machine, without a trailing slash. `port`: the one it listens on. */
export function localUrl(
  { publicBaseUrl, host }: Pick<Config, 'publicBaseUrl' | 'host'>,
  port: number,
): string {
  const name = ['0.0.0.0', '::'].includes(host) ? 'localhost' : host
  return publicBaseUrl ?? `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}

/** Scheme, host, port and prefix, without a trailing slash: from the settings, otherwise from the request. */
export function baseUrlOf(request: Request, { publicBaseUrl }: Pick<Config, 'publicBaseUrl'>): string {
  return publicBaseUrl ?? originOf(request)
}
