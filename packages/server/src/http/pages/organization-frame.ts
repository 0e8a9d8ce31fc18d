import { html } from 'hono/html'
import { hasRole } from '../../database/database.js'
import type { Actor, Role, StoredProject } from '../../database/tables.js'
import type { Organization } from '../../people/accounts.js'
import { field, type Html, type PageLayout, postForm } from './layout.js'

/** The crumbs and tabs of an organization, for the page at `here`. */
export function organizationFrame(
  layout: PageLayout,
  organization: Organization,
  actor: Actor,
  here: string,
) {
  const { slug } = organization
  const all = [
    { title: 'Overview', href: layout.at(slug) },
    { title: 'Approvals', href: layout.at(slug, 'approvals') },
    { title: 'Members', href: layout.at(slug, 'members') },
    { title: 'API keys', href: layout.at(slug, 'keys') },
    { title: 'Audit log', href: layout.at(slug, 'audit') },
    { title: 'Settings', href: layout.at(slug, 'settings') },
  ]
  const tabs = hasRole(actor, 'admin')
    ? all
    : all.filter(
        ({ title }) => title !== 'Audit log' && (actor.role !== 'viewer' || title !== 'API keys'),
      )
  return { crumbs: [{ title: organization.name, href: layout.at(slug) }], tabs, here }
}

export function projectList(
  layout: PageLayout,
  organization: Organization,
  projects: readonly StoredProject[],
  role: Role,
): Html {
  return html`<ul class="cards">
      ${projects.map(
        ({ slug, name }) =>
          html`<li>
            <a class="card" href="${layout.at(organization.slug, slug)}"
              ><b>${name}</b><span class="muted mono">${organization.slug}/${slug}</span></a
            >
          </li>`,
      )}
    </ul>
    ${projects.length === 0 && html`<p class="muted">No projects yet.</p>`}
    <p></p>
    ${role !== 'viewer' && html`<details${projects.length === 0 ? html` open` : ''}><summary>Create a project in ${organization.name}</summary>${postForm(layout.at(organization.slug, 'projects'), html`${field('Name', 'name', { required: '', maxlength: '100', placeholder: 'Refunds' })}<button class="${projects.length === 0 ? 'primary' : ''}">Create</button>`, 'line')}</details><p></p>`}`
}
