/**
 * The import graph of the source tree by layer, as the picture of docs/architecture.md. It counts the imports that exist at run
 * time: an `import type` is gone by then.
 */
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** Layers from the top down: the files of each, and what the picture says. The first pattern that fits a file decides. */
const LAYERS = [
  { name: 'cli', files: /^src\/cli(?:\/|\.ts$)/, label: 'src/cli<br>commands' },
  {
    name: 'settings',
    files: /^src\/app\/(?:config\.ts$|settings\/)/,
    label: 'src/app/config.ts, settings<br>settings',
  },
  {
    name: 'start',
    files: /^(?:workers\/|src\/app\/|src\/[^/]+\.ts$)/,
    label: 'src/main.ts, src/app, workers<br>start and wiring',
  },
  { name: 'http', files: /^src\/http\//, label: 'src/http<br>operations, authentication, limits' },
  { name: 'actors', files: /^src\/actors\//, label: 'src/actors<br>mailboxes and turns' },
  { name: 'client', files: /^src\/client\//, label: 'src/client<br>uploads to any server' },
  {
    name: 'platform',
    files: /^(?:src\/platform\/|sql\/)/,
    label: 'src/platform, sql<br>database, storage, network, logs',
  },
  { name: 'features', files: /^src\/[^/]+\//, label: 'the features<br>agents, recordings, feedback, …' },
] as const

const ORDER = ['cli', 'start', 'features', 'http', 'actors', 'client', 'settings', 'platform']

/** Mermaid source of the picture: a node for each layer, an arrow for each pair of which one imports the other. */
export function importGraph(root: string): string {
  const edges = new Set<string>()
  for (const pattern of ['src/**/*.ts', 'workers/*.ts', 'sql/*.ts'])
    for (const path of new Bun.Glob(pattern).scanSync({ cwd: root }))
      for (const imported of importsOf(root, path)) {
        const [from, to] = [layerOf(path), layerOf(imported)]
        if (from !== to) edges.add(`${from} --> ${to}`)
      }
  const rank = (edge: string) => edge.split(' --> ').map((name) => ORDER.indexOf(name))
  const sorted = [...edges].sort((a, b) => {
    const [[fromA = 0, toA = 0], [fromB = 0, toB = 0]] = [rank(a), rank(b)]
    return fromA - fromB || toA - toB
  })
  const nodes = ORDER.map((name) => `  ${name}["${LAYERS.find((layer) => layer.name === name)?.label}"]`)
  return ['```mermaid', 'flowchart TD', ...nodes, ...sorted.map((edge) => `  ${edge}`), '```'].join('\n')
}

const transpiler = new Bun.Transpiler({ loader: 'ts' })

/** Own files that a file imports at run time, relative to `root`. */
function importsOf(root: string, path: string): readonly string[] {
  return transpiler
    .scanImports(readFileSync(join(root, path), 'utf8').replace(/^#!.*/, ''))
    .filter(({ path: specifier }) => specifier.startsWith('.') && specifier.endsWith('.ts'))
    .map(({ path: specifier }) => normalize(join(dirname(path), specifier)))
}

function layerOf(path: string): string {
  const layer = LAYERS.find(({ files }) => files.test(path))
  if (layer === undefined) throw new Error(`${path} belongs to no layer of scripts/docs/import-graph.ts`)
  return layer.name
}
