/** Errors of outbound webhooks that a client can see. `src/platform/errors.ts` describes the parts. */
export const WEBHOOK_ERRORS = {
  codes: {
    webhook_not_found: 404,
    webhook_delivery_not_found: 404,
    webhook_disabled: 409,
    webhook_delivery_under_way: 409,
    webhook_recovery_active: 409,
    too_many_webhooks: 409,
  },
  rows: { webhook: 'webhook_not_found', webhook_delivery: 'webhook_delivery_not_found' },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly webhooks: typeof WEBHOOK_ERRORS
  }
}
