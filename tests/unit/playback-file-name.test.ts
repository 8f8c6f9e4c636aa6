/** What a recording is called when somebody saves its media. */
import { expect, test } from 'bun:test'
import { playbackFileName } from '../../src/calls/recordings/playback.rules.ts'

test.each([
  ['Call with Ada', 'audio/mpeg', 'Call with Ada.mp3'],
  ['call.mp4', 'video/mp4', 'call.mp4'],
  ['CALL.MP4', 'video/mp4', 'CALL.MP4'],
  // It was converted.
  ['call.mov', 'video/mp4', 'call.mp4'],
  ['voice.OGG', 'audio/mp4', 'voice.m4a'],
  // No extension of media, or nothing else.
  ['Release 2.0', 'video/mp4', 'Release 2.0.mp4'],
  ['.mov', 'video/mp4', 'mov.mp4'],
  ['', 'audio/flac', 'recording.flac'],
  ['a/b:c\u0000"d', 'audio/flac', 'a b c d.flac'],
  ['../../etc/passwd', 'audio/wav', 'etc passwd.wav'],
  ['call', 'application/x-unknown', 'call'],
])('%j as %s is %j', (name, contentType, fileName) => {
  expect(playbackFileName(name, contentType)).toBe(fileName)
})
