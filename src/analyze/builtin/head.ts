/** The weights of the two trained heads. `scripts/train.ts` makes them. */
import usual from './head.json'
import { type Layers, unpackMatrix } from './head.rules.ts'
import short from './short.json'

export interface Head {
  readonly layers: Layers
  readonly ngrams: Float32Array
}

/** The head whose scores the judge reads. */
export const loadHead = (): Head => unpack(usual)

/** The head for short messages, which also learned from short, blunt texts. */
export const loadShortHead = (): Head => unpack(short)

function unpack({ inputs, hidden, first, firstBias, second, secondBias, ngrams }: typeof usual): Head {
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
