/** Roles of users in an organization (contract: administrators change settings, analysts correct and name, viewers read). */

/** In ascending order: each role may do what the roles before it may do. */
export const ROLES = ['viewer', 'analyst', 'administrator'] as const
export type Role = (typeof ROLES)[number]

/** The role of a new member for whom nobody chose one. */
export const DEFAULT_ROLE: Role = 'analyst'

/** Whether a user with the role `held` may do what needs the role `needed`. */
export function includesRole(held: Role, needed: Role): boolean {
  return ROLES.indexOf(held) >= ROLES.indexOf(needed)
}

export function isRole(text: string): text is Role {
  return (ROLES as readonly string[]).includes(text)
}
