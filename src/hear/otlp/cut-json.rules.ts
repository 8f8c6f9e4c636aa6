/**
 * Reads JSON text that ends too early. OpenTelemetry cuts attributes at a length (`OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`), within
 * whatever stands there. Text that `JSON.parse` refuses for smaller faults is read, too: control characters within texts, and `NaN`,
 * which Python writes. Pure; the cost is linear in the size.
 */

/** Stands at the end of a text that was cut, and in place of a message of which nothing can be read. */
export const CUT = '[cut]'

/** A member of objects that the cut went through. What they would say about their texts, such as a role, may be missing. */
export const IS_CUT: unique symbol = Symbol('cut')

/** The value of JSON text. `isCut`: the text ended before the value did. */
export interface ReadJson {
  readonly value: unknown
  readonly isCut: boolean
}

const MAX_DEPTH = 64
/** No value: the text ended before it began. */
const NONE: unique symbol = Symbol('none')
const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['NaN', null],
  ['Infinity', null],
  ['-Infinity', null],
])
const SPACE = /[\s]/
/** A number or a word. */
const SCALAR = /[-+.\w]+/y
const QUOTE = '"'

class NoJson extends Error {}

/** @returns null where the text is no list or object, or no JSON even as far as it goes */
export function readJson(text: string): ReadJson | null {
  const first = text.trimStart()[0]
  if (first !== '[' && first !== '{') return null
  try {
    return { value: JSON.parse(text), isCut: false }
  } catch {
    // Nothing but the beginning of the text says that it is JSON, so more of it must look like it.
    return /^\s*(?:\{\s*"|\[\s*["[{])/.test(text) ? readFaulty(text) : null
  }
}

function readFaulty(text: string): ReadJson | null {
  const reader = new Reader(text)
  try {
    const value = reader.value(0)
    return reader.isAtEnd() ? { value, isCut: reader.isCut } : null
  } catch (error) {
    if (error instanceof NoJson) return null
    throw error
  }
}

class Reader {
  isCut = false
  #at = 0

  constructor(private readonly text: string) {}

  isAtEnd(): boolean {
    return this.#next() === ''
  }

  /** @returns `NONE` where the text ends first @throws NoJson */
  value(depth: number): unknown {
    if (depth > MAX_DEPTH) throw new NoJson()
    const next = this.#next()
    if (next === '') return this.#cut()
    if (next === QUOTE) return this.#string(true)
    if (next === '[') return this.#list(depth)
    if (next === '{') return this.#object(depth)
    return this.#scalar()
  }

  /** The next character that is no space; empty at the end. */
  #next(): string {
    while (this.#at < this.text.length && SPACE.test(this.text[this.#at] as string)) this.#at++
    return this.text[this.#at] ?? ''
  }

  #cut(): typeof NONE {
    this.isCut = true
    return NONE
  }

  #list(depth: number): unknown[] {
    const list: unknown[] = []
    this.#at++
    if (this.#next() === ']') this.#at++
    else
      do {
        const value = this.value(depth + 1)
        if (value !== NONE) list.push(value)
      } while (this.#goesOn(']'))
    return list
  }

  #object(depth: number): object {
    const members: [string, unknown][] = []
    this.#at++
    if (this.#next() === '}') this.#at++
    else
      do this.#member(members, depth)
      while (this.#goesOn('}'))
    // Defines members instead of assigning them, because one may be called `__proto__`.
    const object = Object.fromEntries(members)
    return this.isCut ? Object.assign(object, { [IS_CUT]: true }) : object
  }

  #member(members: [string, unknown][], depth: number): void {
    if (this.#next() === '') return void this.#cut()
    if (this.#next() !== QUOTE) throw new NoJson()
    const name = this.#string(false)
    if (this.isCut || this.#next() === '') return void this.#cut()
    if (this.#next() !== ':') throw new NoJson()
    this.#at++
    const value = this.value(depth + 1)
    if (value !== NONE) members.push([name, value])
  }

  /** Whether a comma follows, or the end of the list or object. */
  #goesOn(end: ']' | '}'): boolean {
    if (this.isCut) return false
    const next = this.#next()
    if (next === '') {
      this.#cut()
      return false
    }
    if (next !== ',' && next !== end) throw new NoJson()
    this.#at++
    return next === ','
  }

  #string(isValue: boolean): string {
    const from = this.#at + 1
    const end = this.#endOfString(from)
    const isWhole = this.text[end] === QUOTE
    this.#at = isWhole ? end + 1 : this.text.length
    this.isCut = !isWhole
    const said = unescaped(this.text.slice(from, end))
    return isWhole || !isValue ? said : `${said} ${CUT}`
  }

  /** The place of its closing quote, or else of the end of what can be read: the text may end within an escape. */
  #endOfString(from: number): number {
    for (let at = from; at < this.text.length; at++) {
      if (this.text[at] === QUOTE) return at
      if (this.text[at] !== '\\') continue
      const length = this.text[at + 1] === 'u' ? 6 : 2
      if (at + length > this.text.length) return at
      at += length - 1
    }
    return this.text.length
  }

  #scalar(): unknown {
    SCALAR.lastIndex = this.#at
    const word = SCALAR.exec(this.text)?.[0] ?? ''
    this.#at += word.length
    // A number or word at the end may have lost its rest.
    if (word !== '' && this.#at === this.text.length) return this.#cut()
    if (WORDS.has(word)) return WORDS.get(word)
    if (word === '' || Number.isNaN(Number(word))) throw new NoJson()
    return Number(word)
  }
}

/** @throws NoJson */
function unescaped(raw: string): string {
  if (!raw.includes('\\')) return raw
  try {
    // Characters below U+0020 must be escaped in JSON, but programs that write it by hand forget that.
    return JSON.parse(`"${raw.replaceAll(/\p{Cc}/gu, escaped)}"`) as string
  } catch {
    throw new NoJson()
  }
}

const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
