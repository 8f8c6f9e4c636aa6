/**
 * Bounds the calls that one process has open: of one user, and of all. A call is open from its arrival to the end of its answer,
 * which may wait minutes for a user.
 */
import { AppError } from '../../platform/errors.ts'

export interface OpenCallLimits {
  readonly perUser: number
  readonly inAll: number
}

/** @returns a function that counts a call and returns how it ends @throws AppError 429 or 503 */
export function createOpenCalls({ perUser, inAll }: OpenCallLimits): (user: string) => () => void {
  const open = new Map<string, number>()
  let all = 0
  return (user) => {
    const mine = open.get(user) ?? 0
    const again = { headers: { 'retry-after': '1' } }
    if (mine >= perUser)
      throw new AppError('rate_limited', `At most ${perUser} calls of one user may be open at a time.`, again)
    if (all >= inAll) throw new AppError('unavailable', 'Too many calls are open. Try again shortly.', again)
    open.set(user, mine + 1)
    all++
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      all--
      const rest = (open.get(user) ?? 1) - 1
      if (rest === 0) open.delete(user)
      else open.set(user, rest)
    }
  }
}
