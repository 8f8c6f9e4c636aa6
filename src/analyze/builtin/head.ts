/** The weights of the trained heads. `scripts/train.ts` makes them. */
import ending from './ending.json'
import type { Ending } from './ending.rules.ts'
import usual from './head.json'
import { type Layers, unpackMatrix } from './head.rules.ts'
import short from './short.json'

type Packed = Omit<typeof usual, 'corpus' | 'rows' | 'items'>

export interface Head {
  readonly layers: Layers
  readonly ngrams: Float32Array
}

/** The head whose scores the judge reads. */
export const loadHead = (): Head => unpack(usual)

/** The head for short messages, which also learned from short, blunt texts. */
export const loadShortHead = (): Head => unpack(short)

/** The head for the outcome of conversations. */
export const loadEnding = (): Ending => ({ ...unpack(ending), certainty: ending.certainty })

function unpack({ inputs, hidden, first, firstBias, second, secondBias, ngrams }: Packed): Head {
  return {
    layers: {
      inputs,
      hidden,
      first: unpackMatrix(first, 2),
      firstBias: unpackMatrix(firstBias, 2),
      second: unpackMatrix(second, 2),
      secondBias: unpackMatrix(secondBias, 2),
    },
    ngrams: unpackMatrix(ngrams, 1),
  }
}
