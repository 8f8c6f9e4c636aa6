/** The sound of a call of the demo: nobody speaks, but a hum at two pitches tells who would. Pure. */
import type { Utterance } from './requests.rules.ts'

/** Samples a second: the rate of telephones. */
const RATE = 8_000
const HEADER_BYTES = 44
const PITCHES = [118, 196] as const
const SYLLABLES_A_SECOND = 3.4
const LOUDNESS = 9_000

/** A WAVE file: mono, 16 bits. */
export function soundOf(utterances: readonly Utterance[]): Uint8Array<ArrayBuffer> {
  const seconds = (utterances.at(-1)?.endSec ?? 0) + 1
  const samples = Math.ceil(seconds * RATE)
  const bytes = new Uint8Array(HEADER_BYTES + samples * 2)
  const view = new DataView(bytes.buffer)
  writeHeader(bytes, view, samples)
  for (const { startSec, endSec, speaker } of utterances) {
    const pitch = PITCHES[speaker % PITCHES.length] ?? PITCHES[0]
    for (let index = Math.floor(startSec * RATE); index < Math.floor(endSec * RATE); index++)
      view.setInt16(
        HEADER_BYTES + index * 2,
        Math.round(LOUDNESS * humAt(index / RATE - startSec, pitch)),
        true,
      )
  }
  return bytes
}

/** From -1 to 1: a tone with two overtones that swells with every syllable. */
function humAt(second: number, pitch: number): number {
  const turn = 2 * Math.PI * second
  const tone =
    0.6 * Math.sin(turn * pitch) + 0.25 * Math.sin(turn * pitch * 2) + 0.15 * Math.sin(turn * pitch * 3)
  const swell = Math.sin(Math.PI * second * SYLLABLES_A_SECOND) ** 2
  const phrase = 0.65 + 0.35 * Math.sin(turn * 0.31)
  return tone * swell * phrase
}

function writeHeader(bytes: Uint8Array, view: DataView, samples: number): void {
  const text = (at: number, value: string) => bytes.set(new TextEncoder().encode(value), at)
  text(0, 'RIFF')
  view.setUint32(4, HEADER_BYTES - 8 + samples * 2, true)
  text(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, RATE, true)
  view.setUint32(28, RATE * 2, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  text(36, 'data')
  view.setUint32(40, samples * 2, true)
}
