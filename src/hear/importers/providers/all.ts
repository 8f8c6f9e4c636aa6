/** Every help desk that can be a source. */
import { chatwoot } from './chatwoot.ts'
import { SourceError } from './http.ts'
import { intercom } from './intercom.ts'
import { type Item, PROVIDERS, type Provider, type ProviderName } from './provider.ts'
import { zendesk } from './zendesk.ts'

/** A provider gets back only items of its own pages. */
type AnyProvider = Provider<Item>

const ALL: Readonly<Record<ProviderName, AnyProvider>> = {
  zendesk: zendesk as AnyProvider,
  intercom: intercom as AnyProvider,
  chatwoot: chatwoot as AnyProvider,
}

/** @throws SourceError for a provider of a newer version */
export function providerOf(name: string): AnyProvider {
  const known = PROVIDERS.find((one) => one === name)
  if (known === undefined) throw new SourceError('internal_error')
  return ALL[known]
}
