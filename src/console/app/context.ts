/** The session, for every component. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Membership, Session } from './session.ts'

export interface Opened {
  readonly session: Session
  readonly membership: Membership | null
}

export const SessionContext = createContext<Opened | null>(null)

/** @throws Error outside of the frame */
export function useSession(): Opened {
  const opened = useContext(SessionContext)
  if (opened === null) throw new Error('there is no session yet')
  return opened
}

/** By whose days the organization counts. */
export const useTimeZone = (): string => useSession().membership?.timeZone ?? 'UTC'
