/** How people sign in. The operator decides it with settings of the service. */
import { pageOf } from '../address.ts'
import { api, contentOf, PREFIX, type Schemas } from '../api.ts'
import { useLoaded } from '../load.ts'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Title } from '../parts/small.tsx'

export function SignInStatus() {
  const loaded = useLoaded('sign-in', (signal) => contentOf(api.GET('/v3/rest/sign-in', { signal })))
  return (
    <>
      <Title text="Sign-in" />
      {loaded.data === null ? (
        loaded.state === 'failed' ? (
          <ErrorNote problem={loaded.problem} />
        ) : (
          <Loading />
        )
      ) : (
        <Ways status={loaded.data} />
      )}
      <p>
        Who may sign in is on the page of the <a href={pageOf('/settings/members')}>members</a>. Your own
        sessions are on the <a href={`${PREFIX}/sign-in`}>sign-in page</a>.
      </p>
    </>
  )
}

const MAIL = {
  smtp: 'Members get a link by mail on the sign-in page.',
  folder:
    'Mails are written into the folder “mail” of the service and go nowhere. Set SMTP_URL and MAIL_FROM to send them.',
} as const

function Ways({ status: { mail, openId, tokenIssuer } }: { readonly status: Schemas['SignInStatus'] }) {
  return (
    <dl class="facts tall">
      <div>
        <dt>Link by mail</dt>
        <dd>{mail === null ? 'Not possible. Set PUBLIC_BASE_URL.' : MAIL[mail]}</dd>
      </div>
      <div>
        <dt>OpenID Connect</dt>
        <dd>
          {openId === null
            ? 'Not configured. Set OIDC_ISSUER and OIDC_CLIENT_ID to sign in with the accounts of your company.'
            : `Members sign in with ${openId.issuer}.`}{' '}
          {openId === null || openId.newUserDomains.length === 0
            ? null
            : `People with an address in ${openId.newUserDomains.join(', ')} join as viewers.`}
        </dd>
      </div>
      <div>
        <dt>Access tokens</dt>
        <dd>{tokenIssuer === null ? 'This service makes them.' : `${tokenIssuer} makes them.`}</dd>
      </div>
      <div>
        <dt>Link by command</dt>
        <dd>
          The operator prints one with <code>earshot user link EMAIL</code>.
        </dd>
      </div>
    </dl>
  )
}
