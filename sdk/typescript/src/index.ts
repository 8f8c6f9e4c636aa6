/** `@earshot/sdk`: sends agent conversations and feedback to Earshot, reads what it found, and verifies its webhooks. */
export { Earshot, type Session } from './earshot.ts'
export type { Message, MessagePart, Rating } from './messages.rules.ts'
export type { EarshotOptions, Person, SessionOptions } from './options.ts'
export {
  type Conversation,
  EarshotReader,
  type FeedbackRecord,
  type Item,
  type KnownPerson,
  type Passage,
  type Query,
  type ReaderOptions,
  type Recording,
  type Signal,
  type Theme,
} from './reader.ts'
export { EarshotError, type Fetch, type Stats } from './sender.ts'
export { type UploadOptions, uploadFile } from './upload.ts'
export { type VerifyOptions, verifyWebhook, WebhookVerificationError } from './webhooks.ts'
