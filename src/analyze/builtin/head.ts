/** The weights of the trained head. */
import { KINDS, type Kind } from '../insight.ts'
import weights from './head.json'
import { type Layers, type Thresholds, unpackMatrix } from './head.rules.ts'

export interface Head {
  readonly layers: Layers
  readonly ngrams: Float32Array
  /** At these a kind was right often enough in clauses of authors whom the head had not seen. */
  readonly thresholds: Thresholds
  /** A finding by rules falls where the head gives its kind less than this. */
  readonly veto: number
}

export function loadHead(): Head {
  const { inputs, hidden, first, firstBias, second, secondBias, ngrams, thresholds, veto } = weights
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
    thresholds: byKind((kind) => thresholds[kind]),
    veto,
  }
}

function byKind(of: (kind: Kind) => number): Thresholds {
  return Object.fromEntries(KINDS.map((kind) => [kind, of(kind)])) as Record<Kind, number>
}
