/**
 * Bounds the calls that one process has open. A call is open from its arrival to the end of its answer, which may wait minutes for a user.
 *
 * Organizations share the places. A call that waits for its user has given its place back, so that such calls keep nobody out: they have
 * places of their own, many more, because a question that nobody answers costs no work.
 */

import type { UserPrincipal } from '../../../kernel/principal.ts'
import { createFairQueue } from '../../../platform/concurrency/fair-queue.ts'
import { AppError } from '../../../platform/errors.ts'

export interface OpenCallLimits {
  /** Of one user, together with those that wait for the user. */
  readonly perUser: number
  readonly calls: number
  readonly questions: number
}

export interface OpenCall {
  /** The call waits for its user from now on. @throws AppError 503 */
  asks(): void
  close(): void
}

export type OpenCalls = (of: Pick<UserPrincipal, 'organizationId' | 'userId'>) => OpenCall

/** @returns a function that counts a call @throws AppError 429 or 503 */
export function createOpenCalls({ perUser, calls, questions }: OpenCallLimits): OpenCalls {
  const ofUser = createFairQueue({ places: Number.MAX_SAFE_INTEGER, share: perUser })
  const running = createFairQueue({ places: calls, share: 'asMuchAsItLeaves' })
  const asking = createFairQueue({ places: questions, share: 'asMuchAsItLeaves' })
  return ({ organizationId, userId }) => {
    const leaveUser = ofUser.enter(`${organizationId}:${userId}`)
    if (leaveUser === null)
      throw new AppError('rate_limited', `At most ${perUser} calls of one user may be open at a time.`, AGAIN)
    let leave = running.enter(organizationId)
    if (leave === null) {
      leaveUser()
      throw tooMany('calls')
    }
    let isOpen = true
    return {
      asks() {
        if (!isOpen) return
        const leaveQuestions = asking.enter(organizationId)
        if (leaveQuestions === null) throw tooMany('questions')
        leave?.()
        leave = leaveQuestions
      },
      close() {
        isOpen = false
        leave?.()
        leaveUser()
      },
    }
  }
}

const AGAIN = { headers: { 'retry-after': '1' } }

const tooMany = (what: string) =>
  new AppError('unavailable', `Too many ${what} of this organization are open. Try again shortly.`, AGAIN)
