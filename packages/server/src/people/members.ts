import { type Database } from '../database/database.js'
import { serverErrors } from '../edge/errors.js'
import type { Accounts } from './accounts.js'
import { audit } from '../database/audit.js'
import { type Actor, type Role, ROLES } from '../database/tables.js'

/** Manages members. Each change is in the audit log. */
export class Members {
  constructor(
    private readonly accounts: Accounts,
    private readonly database: Database,
  ) {}

  /** Without a mail server, returns the link to send. */
  async invite(
    actor: Actor,
    { email, role }: { readonly email: string; readonly role: string },
    headers: Headers,
  ): Promise<string | undefined> {
    await this.#checkOwner(actor, undefined, role)
    const address = email.toLowerCase()
    const link = await this.accounts.invite(actor.org, address, checkRole(role), headers)
    await this.#record(actor, 'member.invite', address, { role })
    return link
  }

  async withdraw(actor: Actor, invitation: string): Promise<void> {
    const email = await this.accounts.withdrawInvitation(actor.org, invitation)
    await this.#record(actor, 'member.withdraw', email)
  }

  async setRole(
    actor: Actor,
    { user, role }: { readonly user: string; readonly role: string },
    headers: Headers,
  ): Promise<void> {
    const email = await this.#checkOwner(actor, user, role)
    await this.accounts.setRole(actor.org, user, checkRole(role), headers)
    await this.#record(actor, 'member.role', email, { role })
  }

  async remove(actor: Actor, user: string, headers: Headers): Promise<void> {
    const email = await this.#checkOwner(actor, user, '')
    await this.accounts.removeMember(actor.org, user, headers)
    await this.#record(actor, 'member.remove', email)
  }

  /** Only owners can grant or revoke the owner role. Returns the email address of the member. */
  async #checkOwner(actor: Actor, user: string | undefined, role: string): Promise<string> {
    const members = user === undefined ? [] : await this.accounts.members(actor.org)
    const before = members.find(({ id }) => id === user)
    if (actor.role !== 'owner' && (role === 'owner' || before?.role === 'owner'))
      throw serverErrors.NOT_ALLOWED('change owners', actor.role)
    return before?.email ?? ''
  }

  #record(actor: Actor, action: string, target: string, details = {}): Promise<void> {
    return this.database.inOrg(actor, (rows) => audit(rows, actor, action, target, details))
  }
}

function checkRole(role: string): Role {
  const found = ROLES.find((each) => each === role)
  if (found === undefined)
    throw serverErrors.REQUEST_INVALID('The role', `Choose from ${ROLES.join(', ')}.`)
  return found
}
