/** Pure decisions about people: the values that a request sets, and the company that it means. */
import { invalid } from '../platform/validation/json.ts'
import { nameOf } from '../platform/validation/names.ts'
import { contactAddress } from '../platform/validation/user-address.ts'
import type { Boundary, PutPerson } from './model.ts'

/** A company in a request: a name, a domain or both. */
export interface CompanyInput {
  readonly name: string | null
  /** In lower case. */
  readonly domain: string | null
}

/** `undefined` keeps a value, null clears it. */
export interface PersonDraft {
  readonly email: string
  readonly firstName: string | null | undefined
  readonly lastName: string | null | undefined
  readonly boundary: Boundary | undefined
  readonly company: CompanyInput | null | undefined
}

/** @throws AppError 400 if a company has neither name nor domain, or its name is blank or too long */
export function personDraft(body: PutPerson): PersonDraft {
  return {
    email: contactAddress(body.email) ?? body.email.trim(),
    firstName: trimmed(body.first_name),
    lastName: trimmed(body.last_name),
    boundary: body.boundary ?? undefined,
    company: body.company == null ? body.company : companyInput(body.company),
  }
}

const trimmed = (text: string | null | undefined) => (text == null ? text : text.trim())

function companyInput(company: NonNullable<PutPerson['company']>): CompanyInput {
  const name = company.name == null ? null : nameOf('company.name', company.name)
  const domain = company.domain?.trim().toLowerCase() ?? null
  if (name === null && domain === null)
    throw invalid([{ path: 'company', code: 'required', message: 'must have a name or a domain' }])
  return { name, domain }
}

export interface Company extends CompanyInput {
  readonly id: number
}

/** What to do so that the company exists as the request names it. */
export type CompanyDecision =
  | { readonly kind: 'known'; readonly id: number }
  | { readonly kind: 'change'; readonly company: Company }
  | { readonly kind: 'create'; readonly company: CompanyInput }

/**
 * `candidates` are the companies with the name or the domain, oldest first. A domain identifies a company. A company
 * without a domain receives the given one. A name alone prefers the company without a domain.
 */
export function decideCompany(candidates: readonly Company[], named: CompanyInput): CompanyDecision {
  const withoutDomain = candidates.find(({ domain, name }) => domain === null && name === named.name)
  const found =
    named.domain === null
      ? (withoutDomain ?? candidates.find(({ name }) => name === named.name))
      : (candidates.find(({ domain }) => domain === named.domain) ?? withoutDomain)
  if (found === undefined) return { kind: 'create', company: named }
  const company = { id: found.id, name: named.name ?? found.name, domain: found.domain ?? named.domain }
  const isSame = company.name === found.name && company.domain === found.domain
  return isSame ? { kind: 'known', id: found.id } : { kind: 'change', company }
}
