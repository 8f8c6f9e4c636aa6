/** Reads a subject: which messages are the customer's, and their clauses. Pure; bounded. */
import type { Channel } from '../../../kernel/channel.ts'
import type { Subject } from '../insight.ts'
import { type Clause, clausesOf } from './clauses.rules.ts'
import { isPoliteOnly } from './cues/turns.ts'
import { isTask, MAX_MESSAGE, mask } from './mask.rules.ts'

/** Messages of one subject that are read: its first and its last ones. */
const MAX_FIRST = 40
const MAX_LAST = 160

/** UTF-16 code units of the customer's words that are read together. The newest and the first message come before those between. */
const MAX_READ = 24_000

/** A message of the customer. */
export interface Message {
  /** Number in `said`. */
  readonly index: number
  readonly masked: string
  readonly clauses: readonly Clause[]
  /** True if it asks for a text to be written or changed. Its words are material then. */
  readonly isTask: boolean
  /** True if it consists of polite words only. */
  readonly isPolite: boolean
  /** The words of the company right before it, masked. Null before the company's first words. */
  readonly reply: string | null
}

export interface Reading {
  readonly channel: Channel
  /** True if the company said something after the customer's last message. */
  readonly endsWithReply: boolean
  /** The last words of the company, masked. */
  readonly lastReply: string | null
  readonly messages: readonly Message[]
}

export function readSubject({ channel, said }: Subject): Reading {
  const chosen = chosenOf(said)
  const messages: Message[] = []
  let reply: string | null = null
  for (const [index, { own, text }] of said.entries()) {
    if (own) reply = text
    else if (chosen.has(index)) messages.push(messageOf(index, text, reply))
  }
  const lastReply = reply === null ? null : mask(reply)
  return { channel, endsWithReply: said.at(-1)?.own === true, lastReply, messages }
}

/** Numbers of the customer's messages that are read. */
function chosenOf(said: Subject['said']): ReadonlySet<number> {
  const customers = said.flatMap(({ own, text }, index) => (own || text.trim() === '' ? [] : [index]))
  const [first, ...rest] = [...customers.slice(0, MAX_FIRST), ...customers.slice(MAX_FIRST).slice(-MAX_LAST)]
  const chosen = new Set<number>()
  let left = MAX_READ
  for (const index of [first, ...rest.reverse()]) {
    if (index === undefined || left <= 0) break
    chosen.add(index)
    left -= Math.min(said[index]?.text.length ?? 0, MAX_MESSAGE)
  }
  return chosen
}

function messageOf(index: number, text: string, reply: string | null): Message {
  const masked = mask(text)
  return {
    index,
    masked,
    clauses: clausesOf(text),
    isTask: isTask(masked),
    isPolite: isPoliteOnly(masked),
    reply: reply === null ? null : mask(reply),
  }
}

/** The customer's own words, one message a line. */
export function wordsOfCustomer({ messages }: Reading): string {
  return messages.map(({ masked }) => masked.trim()).join('\n')
}
