/** The mapping of a file as the form shows it: one row a column. Pure. */

/** As in the API. Not taken from its document, because the tests of this file know no types of a browser. */
export interface Mapping {
  external_id?: string
  email?: string
  timestamp?: string
  columns?: Record<string, string>
}

export const ROLES = { external_id: 'External id', email: 'E-mail address', timestamp: 'Time' } as const
export const CATEGORIES = {
  content: 'Feedback',
  metadata: 'Context',
  identifier: 'Reference',
  identity: 'Identity',
  created_at: 'Another time',
} as const
export const TYPES = ['string', 'integer', 'float', 'boolean', 'date', 'datetime', 'json'] as const
export const LEFT_OUT = '-'

/** What a column means: a role, a category, or `-`. `rest` is the type and, if there is one, the name. */
export interface Column {
  readonly column: string
  readonly use: string
  readonly type: string
  readonly name: string
}

type Role = keyof typeof ROLES
const ROLE_NAMES = Object.keys(ROLES) as readonly Role[]

export const isRole = (use: string): boolean => use in ROLES

export function columnsOf(header: readonly string[], mapping: Mapping): readonly Column[] {
  return header.map((column) => {
    const role = ROLE_NAMES.find((one) => mapping[one] === column)
    const [use = 'metadata', type = 'string', name = ''] = (mapping.columns?.[column] ?? '')
      .split(':')
      .filter(Boolean)
    return { column, use: role ?? use, type, name }
  })
}

export function mappingOf(columns: readonly Column[]): Mapping {
  const roles = columns.filter(({ use }) => isRole(use)).map(({ column, use }) => [use, column] as const)
  const rules = columns
    .filter(({ use }) => !isRole(use))
    .map(({ column, use, type, name }) => {
      const rule = use === LEFT_OUT ? use : `${use}:${type}${name === '' ? '' : `:${name}`}`
      return [column, rule] as const
    })
  return { ...Object.fromEntries(roles), columns: Object.fromEntries(rules) }
}

/** Changes one column. A role belongs to one column, so another column that had it becomes context. */
export function withUse(columns: readonly Column[], column: string, use: string): readonly Column[] {
  return columns.map((one) => {
    if (one.column === column) return { ...one, use }
    return isRole(use) && one.use === use ? { ...one, use: 'metadata' } : one
  })
}
