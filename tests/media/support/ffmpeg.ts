/** Small real media made by FFmpeg, and hostile variants of it. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Inputs of FFmpeg: moving pictures and a tone. */
export const picture = (size = '160x120', seconds = 2, rate = 10) =>
  ['-f', 'lavfi', '-i', `testsrc2=size=${size}:rate=${rate}:duration=${seconds}`] as const
export const tone = (seconds = 2) => ['-f', 'lavfi', '-i', `sine=duration=${seconds}`] as const

const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'] as const

/** The bytes of a file with this extension, made from these inputs and settings. @throws Error with the output of FFmpeg */
export function media(extension: string, ...args: readonly string[]): Uint8Array<ArrayBuffer> {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-media-'))
  try {
    const path = join(folder, `made.${extension}`)
    const { success, stderr } = Bun.spawnSync(
      ['ffmpeg', '-nostdin', '-hide_banner', '-v', 'error', ...args, path],
      { stdout: 'ignore', stderr: 'pipe' },
    )
    if (!success) throw new Error(stderr.toString())
    return new Uint8Array(readFileSync(path))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** H.264 and AAC, like most cameras. */
export const film = (extension = 'mp4', ...more: readonly string[]) =>
  media(extension, ...picture(), ...tone(), ...H264, '-c:a', 'aac', ...more)

const text = (value: string) => Buffer.from(value, 'latin1')

/** Replaces the first occurrence of bytes after another text; both have the same length. */
export function patched(
  bytes: Uint8Array,
  after: string,
  skip: number,
  replacement: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const copy = Buffer.from(bytes)
  const at = copy.indexOf(text(after))
  if (at < 0) throw new Error(`there is no ${after}`)
  copy.set(replacement, at + after.length + skip)
  return new Uint8Array(copy)
}

const uint32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** An MP4-like file that claims this duration in its header and first track. */
export function claiming(bytes: Uint8Array, seconds: number): Uint8Array<ArrayBuffer> {
  // Version 0: version and flags, two timestamps, units per second, duration.
  const times = Buffer.concat([uint32(1), uint32(seconds)])
  return patched(patched(bytes, 'mvhd', 12, times), 'mdhd', 12, times)
}

/** A QuickTime file whose first track refers to samples in another file by a Macintosh alias. */
export function referring(bytes: Uint8Array, path: string): Uint8Array<ArrayBuffer> {
  const source = Buffer.from(bytes)
  const parents: number[] = []
  let [from, to] = [0, source.length]
  for (const name of ['moov', 'trak', 'mdia', 'minf', 'dinf', 'dref']) {
    const at = boxAt(source, name, from, to)
    parents.push(at)
    ;[from, to] = [at + 8, at + source.readUInt32BE(at)]
  }
  const name = text(path.length % 2 === 0 ? path : `${path}\0`)
  const alias = Buffer.concat([
    Buffer.alloc(10),
    Buffer.from([4]),
    text('disk'.padEnd(27 + 12, '\0')),
    Buffer.from([4]),
    text('name'.padEnd(63 + 16 + 4 + 16, '\0')),
    Buffer.from([0, 2, 0, path.length]),
    name,
    Buffer.from([255, 255, 0, 0]),
  ])
  const entry = Buffer.concat([uint32(12 + alias.length), text('alis'), uint32(0), alias])
  const table = Buffer.concat([uint32(16 + entry.length), text('dref'), uint32(0), uint32(1), entry])
  const dref = parents.pop() ?? 0
  const growth = table.length - source.readUInt32BE(dref)
  for (const at of parents) source.writeUInt32BE(source.readUInt32BE(at) + growth, at)
  return new Uint8Array(
    Buffer.concat([source.subarray(0, dref), table, source.subarray(dref + table.length - growth)]),
  )
}

function boxAt(bytes: Buffer, name: string, from: number, to: number): number {
  for (let at = from; at + 8 <= to; at += bytes.readUInt32BE(at))
    if (bytes.toString('latin1', at + 4, at + 8) === name) return at
  throw new Error(`there is no ${name}`)
}
