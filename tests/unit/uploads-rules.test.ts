/** What a file's name says of the recording that it becomes. */
import { describe, expect, test } from 'bun:test'
import { displayNameOf } from '../../src/calls/uploads/rules.ts'

describe('a file name as the name of a recording', () => {
  test.each([
    ['call.mp4', 'call'],
    ['Call with Ada.M4A', 'Call with Ada'],
    ['backup.tar.mp3', 'backup.tar'],
    ['C:\\Users\\ada\\call.mov', 'call'],
    ['/home/ada/call.webm', 'call'],
    ['folder/', 'folder'],
    ['../../etc/passwd', 'passwd'],
    ['  two \t\n words .wav', 'two words'],
    ['Release 1.2', 'Release 1.2'],
    ['Call with Dr. Smith', 'Call with Dr. Smith'],
    ['2026-01-02 09.00.00', '2026-01-02 09.00.00'],
    ['no extension', 'no extension'],
    ['evil\u202e4pm.exe', 'evil4pm.exe'],
    ['Meeting at 5.30pm', 'Meeting at 5.30pm'],
    ['Meeting at 5.30pm.mp4', 'Meeting at 5.30pm'],
    ['Call with J.Doe', 'Call with J.Doe'],
    ['Earshot v2.beta', 'Earshot v2.beta'],
    ['ada@example.com', 'ada@example.com'],
    ['Node.js', 'Node.js'],
    ['Zoom.OPUS', 'Zoom'],
    ['call.3gp', 'call'],
    ['tone\u0007.wav', 'tone'],
    ['Gespräch 👩‍💻.mp4', 'Gespräch 👩‍💻'],
    ['.mp4', null],
    ['///', null],
    ['\u202e', null],
    ['\u061c.mp4', null],
    ['\ufeff\u200b.mp4', null],
  ])('%j is %j', (fileName, name) => expect(displayNameOf(fileName)).toBe(name))
})
