/**
 * SHA-256 (FIPS 180-4) of a text in UTF-8. It is here because ids are derived while the application waits: Web Crypto answers only
 * later, and `node:crypto` is missing on edge runtimes.
 */

const K = new Uint32Array(64)
const START = new Uint32Array(8)
fillConstants()

/** The first 32 bits of the fractions of the cube roots (`K`) and square roots (`START`) of the first primes. */
function fillConstants(): void {
  let found = 0
  for (let candidate = 2; found < 64; candidate++) {
    let isPrime = true
    for (let factor = 2; factor * factor <= candidate; factor++) if (candidate % factor === 0) isPrime = false
    if (!isPrime) continue
    if (found < 8) START[found] = fraction(candidate ** (1 / 2))
    K[found++] = fraction(candidate ** (1 / 3))
  }
}

function fraction(value: number): number {
  return ((value - Math.floor(value)) * 2 ** 32) >>> 0
}

/** @returns 64 lower-case hexadecimal digits */
export function sha256(text: string): string {
  const blocks = padded(new TextEncoder().encode(text))
  const view = new DataView(blocks.buffer)
  const state = Uint32Array.from(START)
  const words = new Uint32Array(64)
  for (let at = 0; at < blocks.length; at += 64) {
    for (let i = 0; i < 16; i++) words[i] = view.getUint32(at + 4 * i)
    compress(state, words)
  }
  return Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('')
}

/** The bytes, a one bit, zeros, and the length in bits as 64 bits. */
function padded(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const blocks = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6)
  blocks.set(bytes)
  blocks[bytes.length] = 0x80
  const view = new DataView(blocks.buffer)
  view.setUint32(blocks.length - 8, Math.floor(bytes.length / 2 ** 29))
  view.setUint32(blocks.length - 4, (bytes.length << 3) >>> 0)
  return blocks
}

const rotated = (word: number, by: number) => (word >>> by) | (word << (32 - by))

function compress(state: Uint32Array, w: Uint32Array): void {
  for (let i = 16; i < 64; i++) {
    const a = w[i - 15] as number
    const b = w[i - 2] as number
    const first = rotated(a, 7) ^ rotated(a, 18) ^ (a >>> 3)
    const second = rotated(b, 17) ^ rotated(b, 19) ^ (b >>> 10)
    w[i] = ((w[i - 16] as number) + first + (w[i - 7] as number) + second) | 0
  }
  let [a, b, c, d] = [state[0] as number, state[1] as number, state[2] as number, state[3] as number]
  let [e, f, g, h] = [state[4] as number, state[5] as number, state[6] as number, state[7] as number]
  for (let i = 0; i < 64; i++) {
    const ofE = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const first = (h + ofE + ((e & f) ^ (~e & g)) + (K[i] as number) + (w[i] as number)) | 0
    const ofA = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
    const second = (ofA + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  state[0] = ((state[0] as number) + a) | 0
  state[1] = ((state[1] as number) + b) | 0
  state[2] = ((state[2] as number) + c) | 0
  state[3] = ((state[3] as number) + d) | 0
  state[4] = ((state[4] as number) + e) | 0
  state[5] = ((state[5] as number) + f) | 0
  state[6] = ((state[6] as number) + g) | 0
  state[7] = ((state[7] as number) + h) | 0
}
