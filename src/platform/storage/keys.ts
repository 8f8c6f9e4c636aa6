/** Valid names of objects, the same for every store. Pure. */
import { InvalidKey } from './storage.ts'

/** In bytes of UTF-8. */
const MAX_KEY = 512
const CONTROL = /\p{Cc}/u

/** @throws InvalidKey */
export function assertKey(key: string): void {
  const isValid =
    key.length > 0 &&
    key.isWellFormed() &&
    Buffer.byteLength(key) <= MAX_KEY &&
    !CONTROL.test(key) &&
    key.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..')
  if (!isValid) throw new InvalidKey(key)
}
