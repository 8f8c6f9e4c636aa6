/** `/v3/rest/sign-in`: how people sign in, for administrators. Settings of the operator, so it is read-only. */
import { Type } from '@sinclair/typebox'
import { baseUrlOf, mailBaseUrl } from '../../http/base-url.ts'
import { type Operation, ok, operation } from '../../http/operation.ts'
import type { Config } from '../../kernel/config.ts'
import { SignInStatus } from './model.ts'

type StatusConfig = Pick<Config, 'publicBaseUrl' | 'mail' | 'oidc' | 'openId'>

export function signInStatusOperation(config: StatusConfig): Operation {
  return operation({
    id: 'getSignInStatus',
    method: 'GET',
    path: '/v3/rest/sign-in',
    tag: 'Administration',
    summary: 'Read how people sign in',
    description:
      'The operator of the service decides it with settings: see docs/sign-in.md. Secrets are not shown.',
    access: 'organizationOrUser',
    role: 'administrator',
    query: Type.Object({}),
    success: {
      status: 200,
      description: 'How people sign in',
      schema: SignInStatus,
      example: {
        mail: 'smtp',
        openId: { issuer: 'https://login.example.com', newUserDomains: ['example.com'] },
        tokenIssuer: null,
      },
    },
    async handler({ principal, request, query }) {
      query()
      const hasMail = mailBaseUrl(config.publicBaseUrl, baseUrlOf(request, config)) !== null
      const transport = config.mail.smtpUrl === null ? 'folder' : 'smtp'
      return ok({
        mail: hasMail ? transport : null,
        openId: openIdOf(config.openId, principal.organizationId),
        tokenIssuer: config.oidc?.issuer ?? null,
      })
    },
  })
}

/** Domains of another organization are not shown. */
function openIdOf(openId: Config['openId'], organizationId: string) {
  if (openId === null) return null
  const { issuer, newUsers } = openId
  return { issuer, newUserDomains: newUsers?.organizationId === organizationId ? newUsers.domains : [] }
}
