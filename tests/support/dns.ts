/** A DNS server on a free UDP port of the loopback interface. The test defines its answers. */
import { createSocket } from 'node:dgram'

/** What the server knows about a name: addresses, an empty answer, a failure, or no answer at all. */
type Zone = readonly string[] | 'nothing' | 'no such name' | 'failure' | 'silence'

export interface DnsServer {
  /** For `createResolve({ servers })`. */
  readonly address: string
  /** Questions so far, as `name A` and `name AAAA`. */
  readonly questions: readonly string[]
  /** Answers successive questions for the name with successive items. The last item repeats. */
  set(name: string, ...zones: readonly Zone[]): void
  stop(): void
}

const A = 1
const AAAA = 28
const HEADER_BYTES = 12
const RESPONSE_CODES = { 'no such name': 3, failure: 2 } as const

export async function startDns(): Promise<DnsServer> {
  const zones = new Map<string, Zone[]>()
  const asked = new Map<string, number>()
  const questions: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionOf(query)
    const label = `${name} ${type === A ? 'A' : 'AAAA'}`
    questions.push(label)
    const times = asked.get(label) ?? 0
    asked.set(label, times + 1)
    const known = zones.get(name) ?? ['no such name']
    const zone = known[Math.min(times, known.length - 1)] ?? 'no such name'
    if (zone !== 'silence') socket.send(answerOf(query.subarray(0, end), type, zone), port, address)
  })
  await new Promise<void>((bound) => socket.bind(0, '127.0.0.1', bound))
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    set(name, ...more) {
      zones.set(name, [...more])
      for (const key of asked.keys()) if (key.startsWith(`${name} `)) asked.delete(key)
    },
    stop: () => void socket.close(),
  }
}

function questionOf(query: Buffer) {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** RFC 1035 section 4.1: the answer repeats the question, and each record points to the name in it. */
function answerOf(question: Buffer, type: number, zone: Exclude<Zone, 'silence'>): Buffer {
  const addresses = Array.isArray(zone) ? (zone as readonly string[]) : []
  const records = addresses.filter((address) => address.includes(':') === (type === AAAA)).map(recordOf)
  const code = zone === 'no such name' || zone === 'failure' ? RESPONSE_CODES[zone] : 0
  const header = Buffer.from(question)
  header.writeUInt16BE(0x8180 | code, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  header.writeUInt32BE(0, 8)
  return Buffer.concat([header, ...records])
}

function recordOf(address: string): Buffer {
  const bytes = address.includes(':') ? ipv6(address) : Buffer.from(address.split('.').map(Number))
  const fixed = Buffer.from([
    0xc0,
    HEADER_BYTES,
    0,
    bytes.length === 4 ? A : AAAA,
    0,
    1,
    0,
    0,
    0,
    0,
    0,
    bytes.length,
  ])
  return Buffer.concat([fixed, bytes])
}

function ipv6(address: string): Buffer {
  const [left = '', right] = address.split('::')
  const groups = (text: string) =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
  const [before, after] = [groups(left), groups(right ?? '')]
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after]
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]))
}
