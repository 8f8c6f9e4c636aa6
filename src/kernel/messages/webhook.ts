/** Messages to the actors of outbound webhooks. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

/** The actor of a subscription, which sends its events in order. Its key has the subscription's id. */
export const webhookMessages = declareActor('webhook', 'outbound', {
  /** There are events after the cursor. Also sent by the trigger `webhook_event_number`. */
  deliver: Type.Object({}),
})

/** The actor of one delivery, which is sent outside of the order. Its key has the delivery's id. */
export const webhookDeliveryMessages = declareActor('webhook_delivery', 'outbound', {
  /** The next attempt of a delivery that was put aside is due. */
  retry: Type.Object({}),
  /** A person asked for one attempt. */
  redeliver: Type.Object({}),
})

/** The actor that sends missed events of a subscription again. Its key has the subscription's id. */
export const webhookRecoveryMessages = declareActor('webhook_recovery', 'outbound', {
  /** Events of the period after number `after` that were not delivered. */
  recover: Type.Object({
    since: Type.String(),
    until: Type.String(),
    after: Type.Integer(),
  }),
})

/** The actor that tells the team about a subscription that was disabled. Its key has the subscription's id. */
export const webhookNoticeMessages = declareActor('webhook_notice', 'long', {
  disabled: Type.Object({ reason: Type.Union([Type.Literal('gone'), Type.Literal('failing')]) }),
})
