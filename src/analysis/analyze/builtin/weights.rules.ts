/** The file of the classifier's weights: how it is packed and read. Pure. */
import { type Classifier, emptyLinear, type Linear } from './classifier.rules.ts'

/** What the file says in JSON before the weights. */
interface Header {
  /** SHA-256 of the labelled text. */
  readonly corpus: string
  readonly calibration: Classifier['calibration']
  readonly certainty: Classifier['certainty']
  /** Of each part its inputs, its answers, and the value of the number 1 in its n-grams. */
  readonly parts: Readonly<Record<Part, { inputs: number; answers: number; unit: number }>>
}

const PARTS = ['pieces', 'whole', 'outcome', 'sentiment'] as const
type Part = (typeof PARTS)[number]

/** N-grams are stored as signed bytes. */
const LARGEST = 127
const LENGTH = 4

/** @param corpus SHA-256 of the labelled text */
export function packClassifier(classifier: Classifier, corpus: string): Uint8Array {
  const { calibration, certainty } = classifier
  const parts = Object.fromEntries(
    PARTS.map((part) => {
      const { answers, dense, grams } = classifier[part]
      const largest = grams.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
      return [part, { inputs: dense.length / answers, answers, unit: largest / LARGEST || 1 }]
    }),
  ) as Header['parts']
  const header = new TextEncoder().encode(JSON.stringify({ corpus, calibration, certainty, parts }))
  const weights = PARTS.flatMap((part) => {
    const { dense, grams, biases } = classifier[part]
    const small = Int8Array.from(grams, (value) => Math.round(value / parts[part].unit))
    return [dense, biases, small].map((array) => new Uint8Array(array.buffer))
  })
  return Buffer.concat([new Uint8Array(Uint32Array.of(header.length).buffer), header, ...weights])
}

/** @throws Error if the file is damaged */
export function readClassifier(packed: Uint8Array): Classifier & { readonly corpus: string } {
  // A copy that is no Buffer, whose slices would share memory.
  const bytes = new Uint8Array(packed)
  let at = LENGTH
  const take = (length: number) => {
    const part = bytes.slice(at, at + length)
    if (part.length !== length) throw new Error('the file of the classifier is damaged')
    at += length
    return part.buffer
  }
  const [length = 0] = new Uint32Array(bytes.slice(0, LENGTH).buffer)
  const { parts, ...rest } = JSON.parse(new TextDecoder().decode(take(length))) as Header
  const read = (part: Part): Linear => {
    const { inputs, answers, unit } = parts[part]
    const empty = emptyLinear(inputs, answers)
    return {
      answers,
      dense: new Float32Array(take(empty.dense.byteLength)),
      biases: new Float32Array(take(empty.biases.byteLength)),
      // Not `Float32Array.from`, which first makes a list of all values.
      grams: new Float32Array(new Int8Array(take(empty.grams.length))).map((value) => value * unit),
    }
  }
  const [pieces, whole, outcome, sentiment] = PARTS.map(read) as [Linear, Linear, Linear, Linear]
  return { ...rest, pieces, whole, outcome, sentiment }
}
