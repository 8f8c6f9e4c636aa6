/** Plain facts about a conversation, by which its end is judged beside the words: they mean the same in every source and language. Pure; bounded. */
import type { Said } from '../insight.ts'
import type { Arc } from './arc.rules.ts'
import { words } from './cues/cues.ts'
import { isSarcastic, NO_LUCK } from './cues/turns.ts'
import type { Reading } from './reading.rules.ts'
import { THANKS } from './ritual.rules.ts'

/** What somebody says whose matter is settled. */
const SETTLED = words(
  'solved|resolved|fixed|figured (?:it )?out|(?:problem|issue|error) (?:is |has )?gone|all (?:good|set) now',
  'works? (?:now|again|fine|great|perfectly)|working (?:now|again|fine)|it worked|worked (?:perfectly|great|fine)',
  'that (?:worked|works|did (?:it|the trick)|helped|fixed it|solved it)|found (?:it|the (?:problem|solution|issue))',
  'gelöst|erledigt|hat geklappt|klappt|funktioniert (?:jetzt|wieder|nun)',
  'résolu|ça marche|fonctionne (?:maintenant|à nouveau|de nouveau)',
  'solucionado|resuelto|ya funciona|funciona (?:bien|perfectamente|ahora)',
  'risolto|ora funziona|funziona (?:tutto|ora|di nuovo)',
  'opgelost|gelukt|werkt (?:nu|weer)|resolvido|funcionou|deu certo',
)
/** What somebody says whose matter is open. */
const OPEN = words(
  "still|again|no luck|not work(?:ing)?|(?:does|did|wo|ca|is)n'?t|does not|did not|cannot|unfortunately|nothing",
  'same (?:problem|issue|thing|error)|immer noch|nicht|leider|toujours|malheureusement|sigue|todavía|tampoco',
  'no funciona|ancora|purtroppo|non (?:funziona|va|riesco)|nog (?:steeds|altijd)|helaas|niet|ainda|não',
)
const everyOne = (expression: RegExp) => new RegExp(expression.source, 'giu')
const [ALL_SETTLED, ALL_OPEN] = [everyOne(SETTLED), everyOne(OPEN)]

const MAX_LAST = 800
const MAX_LATER = 3_000
/** Of the customer's words together, of which mockery is looked for. */
const MAX_END = 500
const MANY = 5

const yes = (isTrue: boolean) => (isTrue ? 1 : 0)
/** Long texts do not count much more than texts that are half as long. */
const size = (count: number) => Math.log1p(count)

/** Numbers from -1 to 1 in a fixed order. */
export function factsOf(
  arc: Arc,
  said: readonly Said[],
  { messages, endsWithReply }: Reading,
): readonly number[] {
  const texts = messages.map(({ masked }) => masked)
  const all = texts.join('\n')
  const last = arc.last.toLowerCase().slice(-MAX_LAST)
  const lower = texts.map((text) => text.toLowerCase())
  const later = lower.slice(1).join('\n').slice(-MAX_LATER)
  const [settled, open] = [placesOf(later, ALL_SETTLED), placesOf(later, ALL_OPEN)]
  const [settledAt, openAt] = [settled.at(-1) ?? -1, open.at(-1) ?? -1]
  const own = said.filter((one) => one.own)
  return [
    size(all.length),
    size(messages.length),
    yes(all.includes('!')),
    yes(/[?？]/.test(all)),
    yes(isSarcastic(all.toLowerCase().slice(-MAX_END))),
    yes(endsWithReply),
    ...[said.length, arc.turns, own.length].map(size),
    ...[arc.after, last, arc.before].map(({ length }) => size(length)),
    size(own.reduce((sum, { text }) => sum + text.length, 0)),
    ...[arc.isThankful, arc.isThankfulAfter, arc.isClosing, arc.after !== '', arc.before === ''].map(yes),
    ...[last, arc.after.trimEnd()].map((text) => yes(text.endsWith('?'))),
    yes(last.includes('?')),
    yes(NO_LUCK.test(last)),
    ...[placesOf(last, ALL_SETTLED), placesOf(last, ALL_OPEN), settled, open].map(({ length }) => length),
    ...[settledAt, openAt, settledAt - openAt],
    ...[lower.at(-1) ?? '', later].map((text) => yes(THANKS.test(text))),
  ].map((fact) => Math.max(-1, Math.min(1, fact / MANY)))
}

/** Where matches begin, from 0 (start of the text) to 1. */
const placesOf = (text: string, expression: RegExp): readonly number[] =>
  [...text.matchAll(expression)].map(({ index }) => index / text.length)
