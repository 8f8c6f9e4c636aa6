/** Words of quotations: stems to compare texts by, and the words and word pairs that titles are made of. Pure. */
import { stemmer } from 'stemmer'

/** Words of one text that are read. A quotation is far shorter. */
const MAX_WORDS = 80

const COMMON = `a about above actually after again all already also always am an and another any anybody anyone anything anyway app are aren't around as ask asked at away
back be because been before being between both but by came can can't cannot come could couldn't did didn't do does doesn't doing don't done down
each either else even ever every everything few first for from get gets getting give go goes going gone gonna got great guess had hardly has hasn't have haven't having he
hello help her here hey hi him his how however i i'd i'll i'm i've if in instead into is isn't it it's its just keep keeps know last least let like little long look lot lots
made make makes many matter may maybe me mean might more most much must my myself need needed needs never new no nobody none nor not nothing now of off often ok okay old on once one only
onto or other others our out over own perhaps please possible pretty put quite rather really right said same say says see seem seems several she should shouldn't since so some somebody
somehow someone something sometimes soon still such sure take tell than thank thanks that that's the their them then there there's these they they're thing things think this those
though three through till time times to today together told too took tried try trying two under until up upon us use used user users using very via wanna want wanted wants was wasn't way we
we're we've well were weren't what what's whatever when where whether which while who whole whom whose why will wish with within without won't work working works would wouldn't yes yesterday
yet annoying annoyed annoys frustrating frustrated frustration disappointed disappointing useless totally incredibly extremely beyond suggestion suggestions problem problems issue issues fix fixed fixes fixing solve solved solution happen happens happened happening idea persist persists occur occurs occurred occurring you you'd you'll you're you've your yours`

const STOP = new Set(COMMON.split(/\s+/))

const wordsOf = (text: string): readonly string[] =>
  (
    text
      .toLowerCase()
      .replaceAll('’', "'")
      .match(/[\p{L}\p{N}][\p{L}\p{N}'-]*/gu) ?? []
  ).slice(0, MAX_WORDS)

/** A word that can stand in a title: no number, which may be somebody's, and nothing long enough to be a code. */
const isPlain = (word: string) => /^[\p{L}'-]{3,24}$/u.test(word) && !STOP.has(word)

const stemOf = (word: string) => (/^[a-z'-]+$/.test(word) ? stemmer(word.replace(/'s?$/, '')) : word)

/** The different stems of a text's words, without common words. */
export function stemsOf(text: string): readonly string[] {
  return [
    ...new Set(
      wordsOf(text)
        .flatMap((word) => word.split('-'))
        .filter((word) => /^[\p{L}']{3,24}$/u.test(word) && !STOP.has(word))
        .map(stemOf),
    ),
  ]
}

/** The different words and pairs of neighbouring words of a text that a title may contain. */
export function titleTermsOf(text: string): readonly string[] {
  const words = wordsOf(text)
  const pairs = words.slice(1).flatMap((second, n) => {
    const first = words[n] ?? ''
    return isPlain(first) && isPlain(second) ? [`${first} ${second}`] : []
  })
  return [...new Set([...words.filter(isPlain), ...pairs])]
}

/** The stems of a title term. */
export const stemsOfTerm = (term: string): readonly string[] => term.split(' ').map(stemOf)
