/** The weights of the classifier. `scripts/train.ts` makes them. */
import type { Classifier } from './classifier.rules.ts'
import file from './classifier.zst' with { type: 'file' }
import { readClassifier } from './weights.rules.ts'

export async function loadClassifier(): Promise<Classifier & { readonly corpus: string }> {
  return readClassifier(await Bun.zstdDecompress(await Bun.file(file).arrayBuffer()))
}
