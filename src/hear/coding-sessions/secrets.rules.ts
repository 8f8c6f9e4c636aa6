/**
 * What is redacted in sessions of coding agents: names of members and text patterns of keys and tokens, in addition to the
 * rules of the organization's agent applications. Pure.
 *
 * Patterns are RE2. Each has a literal, because a text without that literal is skipped a hundred times faster. A private key that
 * is cut off is redacted up to the end of the text.
 */
export interface SecretRules {
  readonly redactedFields: readonly string[]
  readonly redactedPatterns: readonly string[]
}

export const DEFAULT_SECRETS: SecretRules = {
  redactedFields: [
    'access_token',
    'accessToken',
    'api-key',
    'api_key',
    'apiKey',
    'auth_token',
    'authToken',
    'authorization',
    'aws_secret_access_key',
    'client_secret',
    'clientSecret',
    'id_token',
    'passwd',
    'password',
    'private_key',
    'privateKey',
    'proxy-authorization',
    'refresh_token',
    'refreshToken',
    'secret',
    'secret_access_key',
    'secretAccessKey',
    'set-cookie',
    'x-api-key',
    'x-service-agent-key',
    'x-service-api-key',
  ],
  redactedPatterns: [
    // Private keys of every kind in PEM.
    '-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\\z)',
    // JSON Web Tokens.
    '\\beyJ[A-Za-z0-9_-]{10,}\\.eyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]*',
    // Keys of providers of models, with the prefixes that they document.
    '\\bsk-[A-Za-z0-9_-]{20,}',
    '\\bhf_[A-Za-z0-9]{30,}',
    '\\bAIza[A-Za-z0-9_-]{35}',
    // GitHub and GitLab.
    '\\bgh[pousr]_[A-Za-z0-9]{36,}',
    '\\bgithub_pat_[A-Za-z0-9_]{40,}',
    '\\bglpat-[A-Za-z0-9_-]{20,}',
    // AWS, Slack, Stripe, npm, PyPI, SendGrid.
    '\\b(?:AKIA|ASIA)[A-Z0-9]{16}\\b',
    '\\bxox[abeoprs]-[A-Za-z0-9-]{10,}',
    '\\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}',
    '\\bwhsec_[A-Za-z0-9+/=]{20,}',
    '\\bnpm_[A-Za-z0-9]{36}',
    '\\bpypi-[A-Za-z0-9_-]{50,}',
    '\\bSG\\.[A-Za-z0-9_-]{16,}\\.[A-Za-z0-9_-]{16,}',
    // Passwords in URLs, credentials in headers, assignments in shells and files of settings.
    '://[^\\s/:@]{1,256}:[^\\s/@]{1,256}@',
    '\\bBearer +[A-Za-z0-9._~+/=-]{16,}',
    '\\bbearer +[A-Za-z0-9._~+/=-]{16,}',
    '\\bBasic +[A-Za-z0-9+/=]{16,}',
    '\\bbasic +[A-Za-z0-9+/=]{16,}',
    '\\b[A-Z][A-Z0-9_]{0,60}(?:SECRET|TOKEN|PASSWORD|PASSWD|API_KEY|PRIVATE_KEY|ACCESS_KEY)[A-Z0-9_]{0,20} *= *["\']?[^\\s"\'$()<>]{8,}',
  ],
}

const MAX_FIELDS = 400
const MAX_PATTERNS = 120

/** The default set and the rules of applications, without duplicates. The number of rules is limited. */
export function withDefaults(rules: readonly SecretRules[]): SecretRules {
  const all = [DEFAULT_SECRETS, ...rules]
  return {
    redactedFields: [...new Set(all.flatMap((one) => one.redactedFields))].slice(0, MAX_FIELDS),
    redactedPatterns: [...new Set(all.flatMap((one) => one.redactedPatterns))].slice(0, MAX_PATTERNS),
  }
}
