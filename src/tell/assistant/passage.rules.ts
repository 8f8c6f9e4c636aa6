/** Selects the neighbouring sentences of a text that contain most terms of a question. Pure. */

/**
 * One line of at most `most` code points. The earliest of equally good passages wins. A single sentence that is too long is
 * cut.
 * @param tells returns the terms of the question that a sentence contains
 */
export function passageOf(text: string, most: number, tells: (sentence: string) => Iterable<string>): string {
  const sentences = sentencesOf(text).map((sentence) => ({
    sentence,
    length: lengthOf(sentence),
    terms: new Set(tells(sentence)),
  }))
  let best = { first: 0, end: 0, terms: -1 }
  for (let first = 0; first < sentences.length; first++) {
    const terms = new Set<string>()
    let length = 0
    let end = first
    while (end < sentences.length) {
      const next = sentences[end]!
      length += next.length + (end > first ? 1 : 0)
      if (length > most && end > first) break
      for (const term of next.terms) terms.add(term)
      end++
    }
    if (terms.size > best.terms) best = { first, end, terms: terms.size }
  }
  const chosen = sentences.slice(best.first, best.end).map(({ sentence }) => sentence)
  return cut(chosen.join(' '), most)
}

/** Sentences as in Unicode (UAX #29). The end of a line also ends a sentence. */
function sentencesOf(text: string): readonly string[] {
  const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })
  return text
    .split('\n')
    .flatMap((line) =>
      [...segmenter.segment(line)].map(({ segment }) => segment.trim()).filter((sentence) => sentence !== ''),
    )
}

function lengthOf(text: string): number {
  let length = 0
  for (const _ of text) length++
  return length
}

function cut(text: string, most: number): string {
  const points = Array.from(text)
  return points.length <= most
    ? text
    : `${points
        .slice(0, most - 1)
        .join('')
        .trimEnd()}…`
}
