/** The weights of the trained head. */
import weights from './head.json'
import { type Layers, unpackMatrix } from './head.rules.ts'

export interface Head {
  readonly layers: Layers
  readonly ngrams: Float32Array
}

export function loadHead(): Head {
  const { inputs, hidden, first, firstBias, second, secondBias, ngrams } = weights
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
