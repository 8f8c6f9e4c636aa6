/** The roles of messages, as frameworks name them. Pure. */

export type Members = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** `tool`: a call, a result, or reasoning; `instruction`: said by the developer. */
export type Role = 'user' | 'assistant' | 'tool' | 'instruction'

/** In lower case. Names of classes are LangChain’s. */
const NAMES: Readonly<Record<Role, string>> = {
  user: 'user human humanmessage customer visitor client guest end_user',
  assistant: 'assistant ai aimessage model agent bot chatbot llm',
  instruction: 'system systemmessage developer developermessage instructions',
  tool: 'tool toolmessage function functionmessage tool_result ipython',
}
const ROLES: ReadonlyMap<string, Role> = new Map(
  (Object.keys(NAMES) as Role[]).flatMap((role) =>
    NAMES[role].split(' ').map((name) => [name, role] as const),
  ),
)

/** LangChain names the parts of a streamed message after its class. */
export const roleNamed = (name: string): Role | undefined =>
  ROLES.get(
    name
      .trim()
      .toLowerCase()
      .replace(/chunk$/, ''),
  )

/** The role of a message; undefined for what is no message. LangChain has the class name, or the type. */
export function roleOf(value: Members): string | undefined {
  if (typeof value.role === 'string') return value.role
  if (Array.isArray(value.id) && typeof value.id.at(-1) === 'string' && isObject(value.kwargs)) {
    const name = String(value.id.at(-1))
    return /Message(?:Chunk)?$/.test(name) ? name : undefined
  }
  const { type } = value
  if (typeof type !== 'string' || !('content' in value || 'data' in value)) return undefined
  return roleNamed(type) === undefined ? undefined : type
}
