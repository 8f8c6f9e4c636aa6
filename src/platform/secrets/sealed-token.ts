/** Tokens in links of mails that need no row: the text in them is sealed, so nobody can make or change one. */
import { createSeal, type SealOptions } from './seal.ts'

const TOKEN = /^[\w-]{100,300}$/

export interface SealedTokens {
  of(text: string): Promise<string>
  /** @returns null if the token is not one of this service */
  read(token: string): Promise<string | null>
}

/** `name` and `purpose` as for `createSeal`; `context`: tokens of another one do not open. */
export function createSealedTokens(
  options: SealOptions,
  { name, purpose, context }: { readonly name: string; readonly purpose: string; readonly context: string },
): SealedTokens {
  const seal = createSeal(options, name, purpose)
  return {
    of: async (text) => Buffer.from(await seal.seal(text, context)).toString('base64url'),
    read: async (token) => (TOKEN.test(token) ? seal.open(Buffer.from(token, 'base64url'), context) : null),
  }
}
