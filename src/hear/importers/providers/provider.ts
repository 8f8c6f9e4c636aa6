/**
 * What an import source needs of a help desk: pages of changed conversations behind a cursor, and the messages of each.
 *
 * The cursor is the provider's own. Pages are read again after an interruption, so a provider returns the same sessions, events and ids
 * for the same data.
 */
import type { SessionStatus } from '../../agents/model.ts'
import type { Part } from '../row.rules.ts'
import type { Connected, SourceHttp } from './http.ts'

export const PROVIDERS = ['zendesk', 'intercom', 'chatwoot'] as const
export type ProviderName = (typeof PROVIDERS)[number]

/** A conversation of a page. */
export interface Item {
  /** Its id with the moment of its last change. */
  readonly key: string
}

interface Page<I extends Item> {
  readonly items: readonly I[]
  /** Where the next page begins. */
  readonly cursor: string | null
  /** Nothing newer is known at present. */
  readonly isLast: boolean
}

/** A conversation with the messages that customers and agents see. */
export interface ImportedConversation extends Part {
  readonly status: SessionStatus
}

export interface Provider<I extends Item> {
  /** Whether the secret needs an account beside it, and its form. */
  readonly account: {
    readonly isRequired: boolean
    readonly isAllowed: boolean
    readonly pattern: RegExp | null
  }
  connect(connection: Connection): Connected
  /** @throws SourceError */
  page(http: SourceHttp, cursor: string | null, since: Date): Promise<Page<I>>
  /** Null: it has no messages, or is gone. @throws SourceError */
  conversation(http: SourceHttp, item: I): Promise<ImportedConversation | null>
}

interface Connection {
  /** Without a trailing slash. */
  readonly url: string
  readonly account: string | null
  readonly secret: string
}
