/** The settings that the drivers of recorders need. */
import type { SendOutbound } from '../../../platform/net/outbound-request.ts'

export interface RecorderSettings {
  /** The address of its API, with or without the path of the API. */
  readonly url: string
  readonly apiKey: string
  /** The secret that its webhooks are signed with. Null: webhooks are refused, and polling does without. */
  readonly webhookSecret: string | null
}

export interface DriverDeps {
  /** Requests under the outbound policy. */
  readonly send: SendOutbound
  readonly now: () => Date
  /** For one request with its answer. */
  readonly deadlineMs: number
}
