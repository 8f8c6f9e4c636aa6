/** Finds messages that say what an earlier message of the customer said. Pure; linear in the messages that are compared. */

const GRAMMAR = new Set(
  "a an and are as at be been but by can could did do does doing for from get got had has have he her here him his how i if in into is it its it's just like me more my no not now of oh okay ok on one or our out please really right said she so some than that the their them then there these they this those to too up us very was we were what when where which who why will with would yeah yes you your i'm don't doesn't can't didn't i've".split(
    ' ',
  ),
)

const MAX_WORDS = 600
/** An earlier message is forgotten after this many others. */
const MEMORY = 20

/** Part of the shorter message's words that both share, and of the longer one's. */
const OF_SHORTER = 0.8
const OF_LONGER = 0.6

/** An identical message counts if it says something. */
const MIN_IDENTICAL = 9

/** Compares each message with those before it. */
export function createRepeatDetector(): (masked: string) => boolean {
  const earlier: { readonly words: ReadonlySet<string>; readonly text: string }[] = []
  return (masked) => {
    const said = { words: contentOf(masked), text: masked.trim().toLowerCase() }
    const isRepeat = earlier.some((before) => saysTheSame(before, said))
    earlier.push(said)
    if (earlier.length > MEMORY) earlier.shift()
    return isRepeat
  }
}

type Words = { readonly words: ReadonlySet<string>; readonly text: string }

function saysTheSame(before: Words, after: Words): boolean {
  if (before.text === after.text) return after.text.length >= MIN_IDENTICAL
  if (before.words.size === 0 || after.words.size < 2) return false
  let shared = 0
  for (const word of after.words) if (before.words.has(word)) shared++
  const [shorter, longer] = [before.words.size, after.words.size].sort((a, b) => a - b) as [number, number]
  return shared / shorter >= OF_SHORTER && shared / longer >= OF_LONGER
}

/** Words that have a topic. */
export function contentOf(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}']{2,40}/gu) ?? []
  return new Set(words.slice(0, MAX_WORDS).filter((word) => !GRAMMAR.has(word)))
}
