/** The WebAssembly module of the sentence encoder's arithmetic, and where things are in its memory. */
import type { Dense, LayerNorm } from './weights.ts'

/** Bytes: an address in the memory of the module. */
export type Address = number

/** What `kernel/kernel.ts` exports. */
interface Exports {
  readonly memory: WebAssembly.Memory
  multiply(
    inputs: Address,
    inputScales: Address,
    weights: Address,
    weightScales: Address,
    biases: Address,
    outputs: Address,
    rows: number,
    inner: number,
    columns: number,
    relu: boolean,
  ): void
  quantize(inputs: Address, outputs: Address, scales: Address, rows: number, width: number): void
  normalize(
    inputs: Address,
    gain: Address,
    bias: Address,
    outputs: Address,
    rows: number,
    width: number,
  ): void
  add(sums: Address, addends: Address, length: number): void
  average(inputs: Address, outputs: Address, rows: number, width: number): void
  attend(
    inputs: Address,
    outputs: Address,
    weights: Address,
    tokens: number,
    heads: number,
    size: number,
  ): void
}

/** A matrix of 16-bit integers in the memory, with a scale for each column. */
export interface StoredDense {
  readonly weights: Address
  readonly scales: Address
  readonly biases: Address
  readonly inner: number
  readonly columns: number
}

export interface StoredNorm {
  readonly gain: Address
  readonly bias: Address
}

const PAGE = 65_536
/** The largest integer of a quantized number, as in `kernel/kernel.ts`. */
const LARGEST = 1023
/** Columns whose weights stand together, and how many of each. */
const STRIP = 4
const RUN = 8

export interface Kernel extends Omit<Exports, 'memory'> {
  /** Memory for so many bytes, for good. */
  reserve(bytes: number): Address
  /** Floats at an address. Not valid any more after `reserve`. */
  floats(address: Address, length: number): Float32Array
  storeDense(dense: Dense): StoredDense
  storeNorm(norm: LayerNorm): StoredNorm
}

export async function loadKernel(code: ArrayBuffer): Promise<Kernel> {
  const { instance } = await WebAssembly.instantiate(code)
  const exports = instance.exports as unknown as Exports
  const { memory } = exports
  // The first page has the tables of the module.
  let end = PAGE
  const reserve = (bytes: number): Address => {
    const start = end
    end += Math.ceil(bytes / 16) * 16
    const missing = Math.ceil((end - memory.buffer.byteLength) / PAGE)
    if (missing > 0) memory.grow(missing)
    return start
  }
  const floats = (address: Address, length: number) => new Float32Array(memory.buffer, address, length)
  const store = (values: Float32Array): Address => {
    const address = reserve(values.byteLength)
    floats(address, values.length).set(values)
    return address
  }
  return {
    ...exports,
    reserve,
    floats,
    storeDense({ weights, biases }) {
      const columns = biases.length
      const inner = weights.length / columns
      const scales = scalesOf(weights, columns)
      const address = reserve(weights.length * 2)
      quantizeInto(new Int16Array(memory.buffer, address, weights.length), weights, scales)
      return { weights: address, scales: store(scales), biases: store(biases), inner, columns }
    },
    storeNorm: ({ gain, bias }) => ({ gain: store(gain), bias: store(bias) }),
  }
}

/** For each column: what an integer of 1 stands for. */
function scalesOf(weights: Float32Array, columns: number): Float32Array {
  const scales = new Float32Array(columns)
  for (let at = 0; at < weights.length; at++) {
    const column = at % columns
    scales[column] = Math.max(scales[column] as number, Math.abs(weights[at] as number) / LARGEST)
  }
  return scales
}

/** In the order in which `multiply` reads them. */
function quantizeInto(stored: Int16Array, weights: Float32Array, scales: Float32Array): void {
  const columns = scales.length
  const inner = weights.length / columns
  for (let row = 0; row < inner; row++) {
    const [run, place] = [Math.floor(row / RUN), row % RUN]
    for (let column = 0; column < columns; column++) {
      const strip = column - (column % STRIP)
      const at = strip * inner + (run * STRIP + (column % STRIP)) * RUN + place
      stored[at] = Math.round((weights[row * columns + column] as number) / (scales[column] || 1))
    }
  }
}
