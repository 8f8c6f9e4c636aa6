/** The image's FFmpeg has what the service lets a file use, and nothing else. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { PROBED_DECODERS } from '../../src/calls/media/facts.rules.ts'
import { CONTAINERS } from '../../src/calls/media/rules.ts'

const dockerfile = readFileSync(resolve(import.meta.dir, '../../Dockerfile'), 'utf8')

/** What the image enables of a sort. */
const enabled = (sort: string) =>
  new Set(
    [...dockerfile.matchAll(new RegExp(`--enable-${sort}=(\\S+)`, 'g'))].flatMap(([, names = '']) =>
      names.split(','),
    ),
  )

/** The build of FFmpeg calls some decoders and demuxers otherwise than its programs do. */
const BUILD_NAMES: Readonly<Record<string, string>> = {
  ...{ mov_text: 'movtext', cc_dec: 'ccaption', amr_nb: 'amrnb', amr_wb: 'amrwb' },
  ...{ mp4: 'mov', webm: 'matroska', mpeg: 'mpegps' },
}
/** Other libraries for the same codecs. FFmpeg's own decoders and dav1d stand for them. */
const OTHER_LIBRARIES = /^(?:av1|libaom-av1|libvpx.*|libopus|libvorbis|libspeex|libgsm.*|libopencore.*)$/

const named = (list: string) => new Set(list.split(',').map((name) => BUILD_NAMES[name] ?? name))

test('decoders', () => {
  const allowed = [...named(PROBED_DECODERS)].filter((name) => !OTHER_LIBRARIES.test(name))
  expect([...enabled('decoder')].sort()).toEqual(allowed.sort())
})

test('containers', () => {
  expect([...enabled('demuxer')].sort()).toEqual(
    [...named(CONTAINERS.map(({ demuxers }) => demuxers).join(','))].sort(),
  )
})
