/** Bodies that are small as they arrive and large when decompressed. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import { MAX_REQUEST_BYTES } from '../../src/hear/otlp/model.ts'
import { INGEST } from '../support/agents.ts'
import { TRACES } from '../support/otlp.ts'
import { rounds } from '../support/rounds.ts'
import { expectNeighbourUnharmed, type Neighbours, useNeighbours } from './support/neighbours.ts'

setDefaultTimeout(300_000)

/** White space behind a JSON text counts for its size and for nothing else. */
const SPACES = [' ', '\n', '\t', '\r']
const FILLERS = {
  'one character': (bytes: number) => ' '.repeat(bytes),
  /** Shrinks to a seventieth, which is accepted. */
  'few characters': (bytes: number) =>
    Array.from({ length: bytes / 64 }, () => SPACES[Math.floor(Math.random() * 4)]?.repeat(64)).join(''),
} as const
type Filler = keyof typeof FILLERS

const neighbours = useNeighbours()

/** Nearly as large as the operation permits. */
const BODIES = {
  conversations: ({ attacker }: Neighbours, filler: Filler) => ({
    path: INGEST,
    text: JSON.stringify(attacker.request([], {})) + FILLERS[filler](2 * 1024 * 1024 - 1_000),
  }),
  spans: (_: Neighbours, filler: Filler) => ({
    path: TRACES,
    text: `{}${FILLERS[filler](MAX_REQUEST_BYTES - 1_000)}`,
  }),
} as const

const USUAL = [
  ['conversations', 'one character', 100],
  ['spans', 'few characters', 100],
] as const
const MORE = [
  ['conversations', 'few characters', 100],
  ['spans', 'one character', 100],
  ['conversations', 'few characters', 400],
  ['spans', 'few characters', 400],
] as const
test.each(rounds<readonly (readonly [keyof typeof BODIES, Filler, number])[]>(USUAL, [...USUAL, ...MORE]))(
  'gzip bombs harm nobody: %s of %s, %d clients',
  async (kind, filler, clients) => {
    const statuses = await expectNeighbourUnharmed(neighbours(), {
      clients,
      requests(all) {
        const { path, text } = BODIES[kind](all, filler)
        const headers = {
          'content-type': 'application/json',
          'content-encoding': 'gzip',
          'x-service-agent-key': all.attacker.agentSecret,
        }
        return [{ method: 'POST', path, headers, body: gzipSync(text).toString('base64'), base64: true }]
      },
    })
    expect(Object.keys(statuses).every((status) => ['200', '400', '413', '503'].includes(status))).toBe(true)
  },
)
