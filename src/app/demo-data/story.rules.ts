/**
 * Reads the story of the demo: the customers of a made-up company, and what they said. `data/demo` has the texts; the first
 * lines of each file explain its form. Pure.
 */
import callTexts from '../../../data/demo/calls.txt' with { type: 'text' }
import conversationTexts from '../../../data/demo/conversations.txt' with { type: 'text' }
import feedbackTexts from '../../../data/demo/feedback.txt' with { type: 'text' }
import peopleTexts from '../../../data/demo/people.txt' with { type: 'text' }

export interface Customer {
  readonly key: string
  readonly firstName: string
  readonly lastName: string
  readonly email: string
  readonly company: string
  readonly domain: string
}

/** One line of a conversation or call: its sign, and its text. */
interface Line {
  readonly sign: '>' | '<' | '*' | '+' | '-' | '~'
  readonly text: string
}

interface Told {
  readonly daysAgo: number
  /** Kinds that a reader finds in the text, of those that the analyser is not always sure of. */
  readonly kinds: readonly string[]
}

export interface ToldConversation extends Told {
  readonly customer: Customer
  readonly area: string
  readonly appVersion: string | null
  readonly isOpen: boolean
  readonly lines: readonly Line[]
}

export interface ToldRecord extends Told {
  readonly source: string
  readonly customer: Customer | null
  readonly score: number | null
  readonly text: string
}

export interface ToldCall extends Told {
  readonly customer: Customer
  readonly name: string
  readonly lines: readonly Line[]
}

export interface Story {
  readonly customers: readonly Customer[]
  readonly conversations: readonly ToldConversation[]
  readonly records: readonly ToldRecord[]
  readonly calls: readonly ToldCall[]
}

const KINDS = ['praise', 'complaint']

export function readStory(): Story {
  const customers = linesOf(peopleTexts).map(readCustomer)
  const find = (key: string): Customer => {
    const customer = customers.find((one) => one.key === key)
    if (customer === undefined) throw new Error(`the story has no customer ${JSON.stringify(key)}`)
    return customer
  }
  return {
    customers,
    conversations: blocksOf(conversationTexts).map(({ head, body }) => {
      const [days = '', key = '', area = '', labels = ''] = head
      const words = labels.split(' ').filter(Boolean)
      return {
        daysAgo: Number(days),
        customer: find(key),
        area,
        appVersion: words.find((word) => /^\d/.test(word)) ?? null,
        isOpen: words.includes('open'),
        kinds: words.filter((word) => KINDS.includes(word)),
        lines: body.map(readLine),
      }
    }),
    records: blocksOf(feedbackTexts).map(({ head, body }) => {
      const [days = '', source = '', key = '', score = '', labels = ''] = head
      return {
        daysAgo: Number(days),
        source,
        customer: key === '-' ? null : find(key),
        score: score === '-' ? null : Number(score),
        kinds: labels.split(' ').filter((word) => KINDS.includes(word)),
        text: body.join('\n'),
      }
    }),
    calls: blocksOf(callTexts).map(({ head, body }) => {
      const [days = '', key = '', name = ''] = head
      return { daysAgo: Number(days), customer: find(key), name, kinds: [], lines: body.map(readLine) }
    }),
  }
}

/** Without empty lines and comments. */
const linesOf = (text: string): readonly string[] =>
  text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('# '))

function blocksOf(text: string) {
  const blocks: { readonly head: readonly string[]; readonly body: string[] }[] = []
  for (const line of linesOf(text))
    if (line.startsWith('== ')) blocks.push({ head: cellsOf(line.slice(3)), body: [] })
    else blocks.at(-1)?.body.push(line)
  return blocks
}

const cellsOf = (line: string): readonly string[] => line.split('|').map((cell) => cell.trim())

function readCustomer(line: string): Customer {
  const [key = '', firstName = '', lastName = '', email = '', company = '', domain = ''] = cellsOf(line)
  return { key, firstName, lastName, email, company, domain }
}

const isSign = (sign: string): sign is Line['sign'] => /^[><*+~-]$/.test(sign)

function readLine(line: string): Line {
  const sign = line.charAt(0)
  if (!isSign(sign)) throw new Error(`a line of the story has no sign: ${line}`)
  return { sign, text: line.slice(1).trim() }
}
