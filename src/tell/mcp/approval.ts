/**
 * The approval of a call by the user (specification, "Authentication", 7).
 *
 * A client that declares elicitation shows the question to its user. The first answer of the call asks; the client repeats the
 * call with the user's answer and the state of the question. The state is signed, so an answer counts only for the call, the user
 * and the ten minutes that it was given for, and it counts once. For older clients the SDK does the same over the open stream.
 *
 * A client without elicitation states in `userApproved` that it has asked.
 */
import { join } from 'node:path'
import {
  type CallToolResult,
  createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Config } from '../../kernel/config.ts'
import type { UserPrincipal } from '../../kernel/principal.ts'
import type { Sql } from '../../platform/db/pool.ts'
import { derivedKey } from '../../platform/secrets/derived-key.ts'
import { ensureSecretFile } from '../../platform/secrets/secret-file.ts'
import { useApproval } from './approval.store.ts'
import { failed } from './results.ts'

const STATE_SECONDS = 600
const KEY_BYTES = 32

/** What an answer of the user is about. */
interface Asked {
  readonly id: string
  readonly call: string
}

interface CallToApprove {
  readonly principal: UserPrincipal
  readonly tool: string
  readonly question: string
  readonly input: Readonly<Record<string, unknown>>
  /** Whether the client can ask its user. */
  readonly canAsk: boolean
}

export interface Approvals {
  readonly verify: RequestStateCodec<Asked>['verify']
  /** @returns null if the user has approved the call; otherwise its answer */
  judge(call: CallToApprove, context: ServerContext): Promise<CallToolResult | InputRequiredResult | null>
}

interface ApprovalDeps {
  readonly config: Pick<Config, 'dataDir' | 'secretKey'>
  readonly sql: Sql
}

/** Processes share the key, because the answer may reach another one than that which asked. */
export async function createApprovals({ config, sql }: ApprovalDeps): Promise<Approvals> {
  const codec = createRequestStateCodec<Asked>({ key: await keyOf(config), ttlSeconds: STATE_SECONDS })
  return {
    verify: codec.verify,
    async judge(call, context) {
      const { userApproved, ...input } = call.input
      if (!call.canAsk) return userApproved === true ? null : mustAsk(call)
      const asked = fingerprint(call, input)
      const answer = inputResponse(context.mcpReq.inputResponses, 'approval')
      const question = context.mcpReq.requestState<Asked>()
      const about = question?.call === asked ? question : null
      const again = async () =>
        inputRequired({
          inputRequests: {
            approval: inputRequired.elicit({
              message: call.question,
              requestedSchema: { type: 'object', properties: {} },
            }),
          },
          requestState: await codec.mint({ id: crypto.randomUUID(), call: asked }),
        })
      if (about === null || answer.kind !== 'elicit') return again()
      if (answer.action === 'accept')
        return (await useApproval(sql, call.principal.organizationId, about.id)) ? null : again()
      return answer.action === 'decline'
        ? failed(
            'declined',
            'The user declined. Nothing was changed. Do not call the tool again unless the user asks for it.',
          )
        : failed('cancelled', 'The user closed the question without an answer. Nothing was changed.')
    },
  }
}

function mustAsk({ question }: CallToApprove): CallToolResult {
  return failed(
    'approval_required',
    `Nothing was changed. This client cannot ask its user by elicitation. Ask the user yourself: ${question} If the user agrees, ` +
      'call the tool again with the same arguments and "userApproved": true.',
  )
}

function fingerprint({ principal, tool }: CallToApprove, input: object): string {
  const { organizationId, userId } = principal
  const text = JSON.stringify([organizationId, userId, tool, input])
  return new Bun.CryptoHasher('sha256').update(text).digest('base64url')
}

async function keyOf({ dataDir, secretKey }: Pick<Config, 'dataDir' | 'secretKey'>): Promise<Uint8Array> {
  if (secretKey !== null) return derivedKey(secretKey, 'tool approvals')
  const path = join(dataDir, 'keys', 'tool-approvals.key')
  const newKey = () => Buffer.from(crypto.getRandomValues(new Uint8Array(KEY_BYTES))).toString('base64url')
  return Buffer.from(await ensureSecretFile(path, newKey), 'base64url')
}
