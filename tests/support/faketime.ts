/** Gives a program another wall clock by libfaketime, which runs on Linux only. Its monotonic clock stays as it is. */
import { existsSync, writeFileSync } from 'node:fs'
import { FAKETIME_LIBRARIES } from '../../scripts/check/machine.ts'

/** Null without libfaketime. */
export const FAKETIME = FAKETIME_LIBRARIES.find((path) => existsSync(path)) ?? null

export interface FakeClock {
  /** Variables of the program, which reads `file` whenever it asks for the time. */
  readonly env: Readonly<Record<string, string>>
  /** Sets the clock: so many hours after that of the machine. */
  set(hours: number): void
}

/** @param file where the difference is kept */
export function createFakeClock(file: string, hours: number): FakeClock {
  const set = (present: number) => writeFileSync(file, `${present < 0 ? '' : '+'}${present}h`)
  set(hours)
  const env = {
    LD_PRELOAD: FAKETIME ?? '',
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
  return { env, set }
}
