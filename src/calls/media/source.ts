/** Where the media of an ingestion is, at the moment of an attempt. */
import type { LongTurn } from '../../actors/types.ts'

export interface MediaSource {
  readonly url: string
  /** Sent to the origin of the URL only. They may contain a credential. */
  readonly headers: Readonly<Record<string, string>>
  /** The next attempt gets another URL. A refusal of this one is therefore not final. */
  readonly isFresh: boolean
}

/** Finds the source of an ingestion by its stored URL. @throws MediaError */
export type FindSource = (turn: LongTurn, url: string) => Promise<MediaSource>
