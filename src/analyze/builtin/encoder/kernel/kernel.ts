/**
 * The arithmetic of the sentence encoder, in AssemblyScript. `bun run kernel` compiles it to `../kernel.wasm`. Addresses are bytes in the memory
 * of the module, and the caller lays them out (`../encoder.ts`).
 *
 * Matrices are multiplied as 16-bit integers, because one instruction of WebAssembly multiplies and adds eight of them. Each row of
 * activations and each column of weights has a scale of its own.
 */

/** The largest integer of a quantized number. 1,536 products of two such numbers fit into 32 bits. */
const LARGEST: f32 = 1023
const LAYER_NORM_EPSILON: f32 = 1e-6

/**
 * `outputs[row][column] = inputs[row] · weights[column] + biases[column]`, or 0 where that is negative and `relu` is set.
 * @param rows an even number
 * @param inner a multiple of 8, at most 1,536
 * @param columns a multiple of 4. The weights of four columns stand together, by eights: 8 of the first, 8 of the second, …
 */
export function multiply(
  inputs: usize,
  inputScales: usize,
  weights: usize,
  weightScales: usize,
  biases: usize,
  outputs: usize,
  rows: i32,
  inner: i32,
  columns: i32,
  relu: bool,
): void {
  const rowBytes = (<usize>inner) << 1
  const outputBytes = (<usize>columns) << 2
  const floor = f32x4.splat(relu ? 0 : -f32.MAX_VALUE)
  for (let column = 0; column < columns; column += 4) {
    const offset = (<usize>column) << 2
    const scales = v128.load(weightScales + offset)
    const bias = v128.load(biases + offset)
    const strip = weights + <usize>column * rowBytes
    for (let row = 0; row < rows; row += 2) {
      let a0 = i32x4.splat(0)
      let a1 = i32x4.splat(0)
      let a2 = i32x4.splat(0)
      let a3 = i32x4.splat(0)
      let b0 = i32x4.splat(0)
      let b1 = i32x4.splat(0)
      let b2 = i32x4.splat(0)
      let b3 = i32x4.splat(0)
      let input = inputs + <usize>row * rowBytes
      let weight = strip
      const end = input + rowBytes
      while (input < end) {
        const a = v128.load(input)
        const b = v128.load(input + rowBytes)
        let w = v128.load(weight)
        a0 = i32x4.add(a0, i32x4.dot_i16x8_s(a, w))
        b0 = i32x4.add(b0, i32x4.dot_i16x8_s(b, w))
        w = v128.load(weight, 16)
        a1 = i32x4.add(a1, i32x4.dot_i16x8_s(a, w))
        b1 = i32x4.add(b1, i32x4.dot_i16x8_s(b, w))
        w = v128.load(weight, 32)
        a2 = i32x4.add(a2, i32x4.dot_i16x8_s(a, w))
        b2 = i32x4.add(b2, i32x4.dot_i16x8_s(b, w))
        w = v128.load(weight, 48)
        a3 = i32x4.add(a3, i32x4.dot_i16x8_s(a, w))
        b3 = i32x4.add(b3, i32x4.dot_i16x8_s(b, w))
        input += 16
        weight += 64
      }
      const output = outputs + <usize>row * outputBytes + offset
      const aScale = f32x4.mul(scales, v128.load32_splat(inputScales + ((<usize>row) << 2)))
      const bScale = f32x4.mul(scales, v128.load32_splat(inputScales + ((<usize>row) << 2), 4))
      const aSum = f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(sums(a0, a1, a2, a3)), aScale), bias)
      const bSum = f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(sums(b0, b1, b2, b3)), bScale), bias)
      v128.store(output, f32x4.max(aSum, floor))
      v128.store(output + outputBytes, f32x4.max(bSum, floor))
    }
  }
}

/** The sum of the four lanes of each. */
function sums(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = i32x4.add(v128.shuffle<i32>(a, b, 0, 4, 1, 5), v128.shuffle<i32>(a, b, 2, 6, 3, 7))
  const cd = i32x4.add(v128.shuffle<i32>(c, d, 0, 4, 1, 5), v128.shuffle<i32>(c, d, 2, 6, 3, 7))
  return i32x4.add(v128.shuffle<i64>(ab, cd, 0, 2), v128.shuffle<i64>(ab, cd, 1, 3))
}

/** The sum of the four lanes. */
function sumOf(a: v128): f32 {
  return (
    f32x4.extract_lane(a, 0) +
    f32x4.extract_lane(a, 1) +
    (f32x4.extract_lane(a, 2) + f32x4.extract_lane(a, 3))
  )
}

/** Each row of floats as 16-bit integers, and its scale. @param width a multiple of 8 */
export function quantize(inputs: usize, outputs: usize, scales: usize, rows: i32, width: i32): void {
  const bytes = (<usize>width) << 2
  for (let row = 0; row < rows; row++) {
    let most = f32x4.splat(1e-20)
    for (let at: usize = 0; at < bytes; at += 16) {
      most = f32x4.max(most, f32x4.abs(v128.load(inputs + at)))
    }
    const largest = max(
      max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1)),
      max(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)),
    )
    store<f32>(scales, largest / LARGEST)
    const factor = f32x4.splat(LARGEST / largest)
    for (let at: usize = 0; at < bytes; at += 32) {
      const low = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(inputs + at), factor)))
      const high = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(inputs + at, 16), factor)))
      v128.store(outputs + (at >> 1), i16x8.narrow_i32x4_s(low, high))
    }
    inputs += bytes
    outputs += bytes >> 1
    scales += 4
  }
}

/** Layer normalization: each row with mean 0 and variance 1, times `gain` plus `bias`. @param width a multiple of 4 */
export function normalize(
  inputs: usize,
  gain: usize,
  bias: usize,
  outputs: usize,
  rows: i32,
  width: i32,
): void {
  const bytes = (<usize>width) << 2
  const count = <f32>width
  for (let row = 0; row < rows; row++) {
    let total = f32x4.splat(0)
    for (let at: usize = 0; at < bytes; at += 16) total = f32x4.add(total, v128.load(inputs + at))
    const mean = f32x4.splat(sumOf(total) / count)
    let squares = f32x4.splat(0)
    for (let at: usize = 0; at < bytes; at += 16) {
      const distance = f32x4.sub(v128.load(inputs + at), mean)
      squares = f32x4.add(squares, f32x4.mul(distance, distance))
    }
    const factor = f32x4.splat(<f32>1 / sqrt<f32>(sumOf(squares) / count + LAYER_NORM_EPSILON))
    for (let at: usize = 0; at < bytes; at += 16) {
      const distance = f32x4.mul(f32x4.sub(v128.load(inputs + at), mean), factor)
      v128.store(outputs + at, f32x4.add(f32x4.mul(distance, v128.load(gain + at)), v128.load(bias + at)))
    }
    inputs += bytes
    outputs += bytes
  }
}

/** `sums += addends`. @param length a multiple of 4 */
export function add(sums: usize, addends: usize, length: i32): void {
  const bytes = (<usize>length) << 2
  for (let at: usize = 0; at < bytes; at += 16) {
    v128.store(sums + at, f32x4.add(v128.load(sums + at), v128.load(addends + at)))
  }
}

/** The mean of the rows. @param width a multiple of 4 */
export function average(inputs: usize, outputs: usize, rows: i32, width: i32): void {
  const bytes = (<usize>width) << 2
  const share = f32x4.splat(<f32>1 / <f32>rows)
  for (let at: usize = 0; at < bytes; at += 16) {
    let total = f32x4.splat(0)
    for (let row = 0; row < rows; row++) total = f32x4.add(total, v128.load(inputs + <usize>row * bytes + at))
    v128.store(outputs + at, f32x4.mul(total, share))
  }
}

/**
 * Attention of the tokens of one text to each other.
 * @param inputs a row for each token: queries, keys and values, `heads * size` floats each
 * @param outputs a row of `heads * size` floats for each token
 * @param weights room for `tokens` floats
 * @param size of a head, a multiple of 4
 */
export function attend(
  inputs: usize,
  outputs: usize,
  weights: usize,
  tokens: i32,
  heads: i32,
  size: i32,
): void {
  const headBytes = (<usize>size) << 2
  const width = <usize>heads * headBytes
  const factor = <f32>1 / sqrt<f32>(<f32>size)
  for (let token = 0; token < tokens; token++) {
    for (let head = 0; head < heads; head++) {
      const offset = <usize>head * headBytes
      const query = inputs + <usize>token * width * 3 + offset
      const keys = inputs + width + offset
      const total = weigh(query, keys, weights, tokens, width * 3, headBytes, factor)
      const output = outputs + <usize>token * width + offset
      gather(inputs + width * 2 + offset, weights, output, tokens, width * 3, headBytes, <f32>1 / total)
    }
  }
}

/** `weights[token] = e^(query · key * factor - the largest)`. @returns their sum */
function weigh(
  query: usize,
  keys: usize,
  weights: usize,
  tokens: i32,
  stride: usize,
  bytes: usize,
  factor: f32,
): f32 {
  let largest = -f32.MAX_VALUE
  for (let token = 0; token < tokens; token++) {
    let product = f32x4.splat(0)
    const key = keys + <usize>token * stride
    for (let at: usize = 0; at < bytes; at += 16) {
      product = f32x4.add(product, f32x4.mul(v128.load(query + at), v128.load(key + at)))
    }
    const score = sumOf(product) * factor
    store<f32>(weights + ((<usize>token) << 2), score)
    largest = max(largest, score)
  }
  let total: f32 = 0
  for (let token = 0; token < tokens; token++) {
    const place = weights + ((<usize>token) << 2)
    const weight = Mathf.exp(load<f32>(place) - largest)
    store<f32>(place, weight)
    total += weight
  }
  return total
}

/** The weighted sum of the values, times `factor`. */
function gather(
  values: usize,
  weights: usize,
  output: usize,
  tokens: i32,
  stride: usize,
  bytes: usize,
  factor: f32,
): void {
  for (let at: usize = 0; at < bytes; at += 16) {
    let total = f32x4.splat(0)
    for (let token = 0; token < tokens; token++) {
      const weight = v128.load32_splat(weights + ((<usize>token) << 2))
      total = f32x4.add(total, f32x4.mul(weight, v128.load(values + <usize>token * stride + at)))
    }
    v128.store(output + at, f32x4.mul(total, f32x4.splat(factor)))
  }
}
