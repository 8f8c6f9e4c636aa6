/** Absolute URLs of this service, for its clients. */
import type { Config } from '../config.ts'
import { originOf } from './address.ts'

/** Scheme, host, port and prefix, without a trailing slash: from the settings, otherwise from the request. */
export function baseUrlOf(request: Request, { publicBaseUrl }: Pick<Config, 'publicBaseUrl'>): string {
  return publicBaseUrl ?? originOf(request)
}
