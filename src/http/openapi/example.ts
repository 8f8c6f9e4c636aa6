/**
 * Creates example values from schemas, so that every answer in the document has an example that fits its schema. A
 * member can set a better text with `examples`.
 */
import type { TSchema } from '@sinclair/typebox'

/** Texts by member name, in camelCase. */
const TEXTS: Readonly<Record<string, string>> = {
  allowedEnvironments: 'production',
  agent: 'claude-code',
  agentKey: 'support-assistant',
  agentVersion: 'support-7',
  answer: 'Redis can be wiped without data loss.',
  branch: 'main',
  comment: 'Found it at once.',
  commit: '0f4c2d9',
  companyExternalId: 'company-9',
  content: 'Where do I find last month’s invoice?',
  contentType: 'video/mp4',
  description: 'What is kept, and for how long.',
  displayName: 'Onboarding call with Ada',
  email: 'ada@example.com',
  entityId: 'order-2041',
  entityType: 'order',
  entryPoint: 'help-button',
  environment: 'production',
  errorCode: 'processing_failed',
  excerpt: 'Redis holds nothing that is not also in PostgreSQL.',
  externalEntityName: 'accounts',
  externalEventId: 'm2',
  externalId: 'call-2041',
  externalSessionId: 'chat-2041',
  fileName: 'call.mp4',
  firstName: 'Ada',
  id: 'discover',
  labels: 'accurate',
  lastName: 'Lovelace',
  limit: 'reads',
  markdown: '# Privacy\n\nWhat is kept, and for how long.\n',
  method: 'GET',
  name: 'Support',
  model: 'example-model-1',
  nextCursor: 'WyJsaXN0IiwxXQ',
  output: '12 tests passed',
  participantExternalId: 'customer-77',
  pathname: '/orders/2041',
  prefix: 'eas_Yk3v',
  productArea: 'billing',
  provider: 'example',
  reasoning: 'The limit is in the form, not in the API.',
  redactedFields: 'password',
  redactedPatterns: '\\d{16}',
  release: '2026.1',
  repo: 'https://git.example.com/shop.git',
  routeTemplate: '/orders/:id',
  sdk: 'http',
  secret: 'eas_Yk3vC7mR2qLx8Nw5Zt1Hb6Pd9Fs4Gj0Ka',
  slug: 'privacy',
  source: 'crm',
  spanId: '00f067aa0ba902b7',
  summary: 'The import is done; the export is slow.',
  surface: 'help-widget',
  targetEventExternalId: 'm2',
  text: 'It took a while, but everything is there.',
  title: 'Privacy',
  toolCallId: 'call-7',
  token: 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIwMTk3ZjNhNSJ9.c2lnbmF0dXJl',
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  type: 'api',
  url: 'https://earshot.example.com/api/content/{slug}',
  username: 'ada',
  value: 'enterprise',
  version: '1',
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-02T09:00:00.000Z',
  date: '2026-01-02',
  email: 'ada@example.com',
  uri: 'https://earshot.example.com/address',
  uuid: '0197f3a5-7c1e-7d3b-9f52-1b2c3d4e5f60',
}

/** A value that fits the schema. `name` is the name of its member. */
export function exampleOf(schema: TSchema, name = ''): unknown {
  if (Array.isArray(schema.examples)) return schema.examples[0]
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.anyOf)) return exampleOf(schema.anyOf[0] as TSchema, name)
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries((schema.properties ?? {}) as Record<string, TSchema>).map(([member, inner]) => [
          member,
          exampleOf(inner, member),
        ]),
      )
    case 'array':
      return [exampleOf(schema.items, name)]
    case 'boolean':
      return schema.default ?? true
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1)
    case 'null':
      return null
    case 'string':
      return FORMATS[schema.format ?? ''] ?? textOf(name)
    default:
      return textOf(name)
  }
}

function textOf(name: string): string {
  return TEXTS[name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())] ?? 'text'
}
