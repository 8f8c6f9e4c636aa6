/** Sends conversations through `append`. A message that is refused does not hold up the others. */
import type { AppendRequest, AppendResponse } from '../agents/request-model.ts'
import { bodyOf, type Defaults, type LinedRequest, withoutLine } from './requests.rules.ts'

/** The service refused a request. `event` is the index of the event at fault; null: the request as a whole. */
export interface Refusal {
  readonly event: number | null
  readonly reason: string
}

type Answer = Pick<AppendResponse, 'acceptedEventCount' | 'deduplicatedEventCount' | 'revisedEventCount'>

export type SendRequest = (body: AppendRequest) => Promise<Answer | Refusal>

interface Sending {
  readonly defaults: Defaults
  readonly send: SendRequest
}

/** Sends the requests of one conversation in their order. The last one says how the conversation ended. */
export async function sendConversation(
  { defaults, send }: Sending,
  requests: readonly LinedRequest[],
  counts: { imported: number; duplicates: number; revised: number },
  refuse: (line: number, reason: string) => void,
): Promise<void> {
  for (const [index, whole] of requests.entries()) {
    const isLast = index === requests.length - 1
    for (let request: LinedRequest | null = whole; request !== null; ) {
      const answer = await send(bodyOf(request, isLast ? defaults : { ...defaults, status: undefined }))
      if (!('reason' in answer)) {
        counts.imported += answer.acceptedEventCount
        counts.duplicates += answer.deduplicatedEventCount
        counts.revised += answer.revisedEventCount
        break
      }
      const line: number | undefined = answer.event === null ? undefined : request.lines[answer.event]
      for (const one of line === undefined ? request.lines : [line]) refuse(one, answer.reason)
      request = line === undefined ? null : withoutLine(request, line)
    }
  }
}
