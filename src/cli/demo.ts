/**
 * `earshot demo`: loads data of a made-up company into an organization of its own, so that it never mixes with real data and
 * leaves with everything that was derived from it. The running service analyses it like any other data.
 */

import type { ErasedOrganization, Organization } from '../access/identity/service.ts'
import { linkUrl, START_PATH } from '../access/sign-in/link.rules.ts'
import { transactionWithOutbox } from '../actors/mailbox.ts'
import { loadConfig } from '../app/config.ts'
import { type Call, createCall } from '../app/demo-data/client.ts'
import { AGENTS, COLLEAGUE } from '../app/demo-data/requests.rules.ts'
import { type Sent, sendStory } from '../app/demo-data/send.ts'
import { readStory, type Story } from '../app/demo-data/story.rules.ts'
import { judge } from '../app/demo-data/verdicts.ts'
import { localUrl } from '../http/base-url.ts'
import { themesMessages } from '../kernel/messages/themes.ts'
import { type Input, Interrupted, type Output } from './command.ts'
import { removeFrom } from './demo-remove.ts'
import { type OwnService, withOwnService } from './demo-service.ts'
import { hasWorkers, runNow, waitUntilIdle } from './demo-wait.ts'
import { pairs } from './output.ts'
import { withBar } from './progress.ts'
import { untilSignal } from './remote.ts'
import { createDisplay, type Display } from './upload-progress.ts'

const NAME = 'Larkfield (demo data)'
const EMAIL = COLLEAGUE.email
/** A key with this name exists while the demo is being loaded. */
const KEY_NAME = 'earshot demo'

/** Loads the demo, or prints another link to one that is loaded. @throws Interrupted */
export function loadDemo(input: Input): Promise<Output> {
  return withOwnService(input, async (own) => {
    const display = createDisplay(process.stderr, () => performance.now())
    using stop = untilSignal()
    try {
      const before = await demoOrganization(own)
      const isLoaded = before !== null && 'createdAt' in before && !(await isIncomplete(own, before))
      if (isLoaded) return await outputOf(own, input, before, true)
      if (before !== null) await removeFrom(own, before, stop.signal)
      const organization = await own.identity.createDemoOrganization(NAME)
      const isAnalysed = await load(own, organization.id, display, stop.signal)
      return await outputOf(own, input, organization, isAnalysed)
    } catch (error) {
      if (!stop.signal.aborted) throw error
      throw new Interrupted(
        'interrupted: repeat the command, or remove what was loaded with earshot demo --remove',
      )
    } finally {
      display.end()
    }
  })
}

/** Removes the demo with everything that was derived from it. */
export function removeDemo(input: Input): Promise<Output> {
  return withOwnService(input, async (own) => {
    const organization = await demoOrganization(own)
    if (organization === null) return { json: { removed: false }, lines: ['no demo data is loaded'] }
    using stop = untilSignal()
    await removeFrom(own, organization, stop.signal)
    return {
      json: { removed: true, organizationId: organization.id },
      lines: ['removed: the demo data is gone, with everything that was found in it'],
    }
  })
}

/** Also one that is being removed. */
async function demoOrganization({ identity }: OwnService): Promise<Organization | ErasedOrganization | null> {
  const all = [...(await identity.listErasedOrganizations()), ...(await identity.listOrganizations())]
  return all.find(({ isDemo }) => isDemo) ?? null
}

async function isIncomplete({ identity }: OwnService, { id }: Organization): Promise<boolean> {
  const keys = await identity.listApiKeys(id)
  return keys.length === 0 || keys.some(({ name, revokedAt }) => name === KEY_NAME && revokedAt === null)
}

/** @returns whether the service has analysed everything */
async function load(own: OwnService, id: string, display: Display, signal: AbortSignal): Promise<boolean> {
  const { identity, url } = own
  await identity.createUser(id, {
    email: EMAIL,
    name: `${COLLEAGUE.firstName} ${COLLEAGUE.lastName}`,
    role: 'administrator',
  })
  const key = await identity.createApiKey(id, KEY_NAME)
  const call = createCall(url, { 'x-service-api-key': key.apiKey }, signal)
  const story = readStory()
  const sent = await send(own, id, { call, story, display, signal })
  const isAnalysed =
    (await hasWorkers(own)) && (await analyse(own, id, { call, story, sent, display, signal }))
  await identity.revokeApiKey(id, key.id)
  return isAnalysed
}

interface Step {
  readonly call: Call
  readonly story: Story
  readonly display: Display
  readonly signal: AbortSignal
}

async function send(own: OwnService, id: string, { call, story, display, signal }: Step): Promise<Sent> {
  const agents: Record<string, Call> = {}
  for (const agentKey of AGENTS) {
    const application = await own.applications.create(id, { agentKey, name: agentKey })
    const { agentSecret } = await own.applications.createSecret(id, application.id)
    agents[agentKey] = createCall(own.url, { 'x-service-agent-key': agentSecret }, signal)
  }
  const total = story.conversations.length + story.records.length + story.calls.length
  let done = 0
  const onSent = () => {
    done++
    display.show('sending', (width) => withBar(done / total, `   ${done} of ${total}`, width))
  }
  return sendStory({ call, agents, story, now: Date.now(), signal, onSent })
}

/** Waits for the analysis, has themes made of what was found, and judges some findings. */
async function analyse(
  own: OwnService,
  id: string,
  { call, story, sent, display, signal }: Step & { readonly sent: Sent },
): Promise<boolean> {
  const idle = (what: string) => {
    let most = 1
    const show = (waiting: number) => {
      most = Math.max(most, waiting)
      display.show(what, (width) => withBar(1 - waiting / most, `   ${waiting} steps left`, width))
    }
    return waitUntilIdle(own, id, show, signal)
  }
  if (!(await idle('analysing'))) return false
  await judge(call, story, sent)
  await runNow(own, ['themes'], signal)
  if (!(await idle('themes'))) return false
  await transactionWithOutbox(own.container, (_, outbox) =>
    outbox.send([themesMessages.message(id, 'link', { organizationId: id })]),
  )
  const isDone = await idle('themes')
  await runNow(own, ['fold_counts'], signal)
  return isDone
}

async function outputOf(
  { identity }: OwnService,
  { env }: Input,
  organization: Organization,
  isAnalysed: boolean,
): Promise<Output> {
  const config = loadConfig(env)
  const user = await identity.findUser(organization.id, EMAIL)
  const token = await identity.createLink(user.id)
  const signInUrl = linkUrl(localUrl(config, config.port), token, START_PATH)
  const story = readStory()
  const counts = {
    conversations: story.conversations.length,
    feedback: story.records.length,
    calls: story.calls.length,
    people: story.customers.length,
  }
  return {
    json: { organizationId: organization.id, ...counts, analysed: isAnalysed, signInUrl },
    lines: [
      ...pairs({ organization: organization.name, ...counts, 'sign in': signInUrl }),
      '',
      ...HINTS(isAnalysed),
    ],
  }
}

const HINTS = (isAnalysed: boolean): readonly string[] => [
  ...(isAnalysed
    ? []
    : ['The analysis is not finished: keep the service running, and the findings appear.', '']),
  'Look at:',
  '  Overview       what hurts this week, in the words of customers',
  '  Themes         the one marked as rising, and who is behind it',
  '  Conversations  an answer that was corrected, ratings, and findings beside the words',
  '  Calls          play one, and press a line of its transcript',
  '  People         Marcus Bell: chats, survey and call in one place',
  '',
  'The link signs in once, within 15 minutes; earshot demo prints another one. earshot demo --remove removes everything.',
]
