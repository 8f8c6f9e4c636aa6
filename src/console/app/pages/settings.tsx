/** The settings of the organization, for administrators: a list of sections, and the section that the address names. */
import type { ComponentType } from 'preact'
import { pageOf } from '../address.ts'
import { useSession } from '../context.ts'
import { Title } from '../parts/small.tsx'
import { Agent } from '../settings/agent.tsx'
import { Agents } from '../settings/agents.tsx'
import { ApiKeys } from '../settings/api-keys.tsx'
import { Audit } from '../settings/audit.tsx'
import { Credits } from '../settings/credits.tsx'
import { General } from '../settings/general.tsx'
import { Members } from '../settings/members.tsx'
import { MetadataFields } from '../settings/metadata.tsx'
import { Redaction } from '../settings/redaction.tsx'
import { SignInStatus } from '../settings/sign-in.tsx'
import { Tokens } from '../settings/tokens.tsx'
import { Webhook } from '../settings/webhook.tsx'
import { Webhooks } from '../settings/webhooks.tsx'
import { NotFound } from './not-found.tsx'

interface Section {
  readonly path: string
  readonly title: string
  readonly list: ComponentType
  /** The page of one of its objects. */
  readonly one?: ComponentType<{ readonly id: string }>
}

const SECTIONS: readonly Section[] = [
  { path: '', title: 'General', list: General },
  { path: 'agents', title: 'Agents', list: Agents, one: Agent },
  { path: 'redaction', title: 'Redaction', list: Redaction },
  { path: 'members', title: 'Members', list: Members },
  { path: 'sign-in', title: 'Sign-in', list: SignInStatus },
  { path: 'api-keys', title: 'API keys', list: ApiKeys },
  { path: 'tokens', title: 'User tokens', list: Tokens },
  { path: 'webhooks', title: 'Webhooks', list: Webhooks, one: Webhook },
  { path: 'metadata', title: 'Metadata', list: MetadataFields },
  { path: 'credits', title: 'Credits', list: Credits },
  { path: 'audit', title: 'Audit', list: Audit },
]

export function Settings({ section = '', id }: { readonly section?: string; readonly id?: string }) {
  const { membership } = useSession()
  const shown = SECTIONS.find(({ path }) => path === section)
  if (membership?.role !== 'administrator')
    return (
      <>
        <Title text="Settings" />
        <div class="note">
          <h2>You may not see this</h2>
          <p>Only administrators see and change settings. Ask one of them for the role.</p>
        </div>
      </>
    )
  if (shown === undefined || (id !== undefined && shown.one === undefined)) return <NotFound />
  return (
    <>
      <nav class="tabs" aria-label="Settings">
        {SECTIONS.map(({ path, title }) => (
          <a
            key={path}
            href={pageOf(path === '' ? '/settings' : `/settings/${path}`)}
            aria-current={path === section ? 'page' : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      {id !== undefined && shown.one !== undefined ? <shown.one id={id} /> : <shown.list />}
    </>
  )
}
