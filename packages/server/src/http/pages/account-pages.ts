import { type Context, Hono } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { html } from 'hono/html'
import { isSecret, RateLimit } from '@retake/web'
import { serverErrors } from '../../edge/errors.js'
import { checkEmail, cookiePrefix } from '../../people/accounts.js'
import { checkRate, type ServerEnv } from '../access.js'
import { readText } from '../api.js'
import { field, postForm, type ScreenParts } from './layout.js'
import { audit } from '../../database/audit.js'

export async function readForm(c: Context<ServerEnv>): Promise<URLSearchParams> {
  return new URLSearchParams(await readText(c))
}

export const fieldValue = (form: URLSearchParams, name: string): string =>
  (form.get(name) ?? '').trim().slice(0, 10_000)

export const slugOf = (title: string): string =>
  title
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replaceAll(/^-+|-+$/g, '')

/** Attempts to use links and codes, per address and minute. */
const ATTEMPTS = 10

/** Pages for signing in and out, for the first owner, and for links in emails. */
export function accountPages(parts: ScreenParts) {
  const { access, accounts, database, notifications, layout, setupToken, url } = parts
  const { base } = layout
  const limit = new RateLimit(ATTEMPTS)
  const limited = (c: Context<ServerEnv>): void => checkRate(limit, parts.address(c))
  const cookiePath = layout.first
  const TARGET = `${cookiePrefix(url)}retake.to`
  /** The page that the user requested before signing in; resets it. */
  const takeTarget = (c: Context<ServerEnv>): string => {
    const target = ownPath(getCookie(c, TARGET))
    deleteCookie(c, TARGET, { path: cookiePath, secure: url.startsWith('https:') })
    return target ?? layout.first
  }
  const ownPath = (path: string | undefined): string | undefined =>
    path !== undefined && path.startsWith(`${base}/`) && /^\/(?![/\\])[^\s\\]*$/.test(path)
      ? path
      : undefined
  const signedIn = (c: Context<ServerEnv>, response: Response, to: string): Response => {
    for (const cookie of response.headers.getSetCookie())
      c.header('set-cookie', cookie, { append: true })
    return c.redirect(to, 303)
  }
  const checkSetup = async (token: string): Promise<void> => {
    if (!isSecret(token, setupToken) || !(await accounts.isEmpty()))
      throw serverErrors.LINK_INVALID()
  }
  return new Hono<ServerEnv>()
    .get('/setup', async (c) => {
      const token = c.req.query('token') ?? ''
      await checkSetup(token)
      return layout.page(c, {
        title: 'Set up Retake',
        isNarrow: true,
        body: html`<h1>Set up Retake</h1>
          <p class="muted">
            You will be the owner of the first organization. You can invite others later.
          </p>
          ${postForm(
            `${base}/setup`,
            html`<input type="hidden" name="token" value="${token}" />
              ${field('Your email', 'email', { type: 'email', required: '', autocomplete: 'email', autofocus: '' })}
              ${field('Your name', 'name', { required: '', autocomplete: 'name', maxlength: '100' })}
              ${field('Organization', 'organization', { required: '', maxlength: '100', placeholder: 'Acme' })}
              <button class="primary">Create organization</button>`,
          )}`,
      })
    })
    .post('/setup', async (c) => {
      limited(c)
      const form = await readForm(c)
      await checkSetup(fieldValue(form, 'token'))
      const title = needed(form, 'organization', 'The organization')
      const slug = slugOf(title)
      const [email, name] = [fieldValue(form, 'email'), needed(form, 'name', 'The name')]
      const response = await accounts.createOwner(
        { email, name, organization: title, slug },
        c.req.raw.headers,
      )
      const [made] = await database.organizations()
      if (made !== undefined) {
        const actor = { org: made.id, user: email.toLowerCase(), role: 'owner' } as const
        await database.inOrg(actor, (rows) => audit(rows, actor, 'organization.create', slug))
      }
      return signedIn(c, response, `${base}/${slug}?done=created`)
    })
    .get('/sign-in', async (c) => {
      const to = ownPath(c.req.query('to'))
      if (to !== undefined)
        setCookie(c, TARGET, to, {
          path: cookiePath,
          httpOnly: true,
          sameSite: 'Lax',
          maxAge: 1800,
          secure: url.startsWith('https:'),
        })
      if (c.var.caller?.kind === 'person') return c.redirect(to ?? layout.first, 303)
      return layout.page(c, {
        title: 'Sign in',
        isNarrow: true,
        body: html`<h1>Sign in to Retake</h1>
          ${c.req.query('error') !== undefined && html`<p class="note bad" role="alert">Single sign-on failed. You may not have an account here, or your provider has not verified your email address. Ask for an invitation, or sign in with an email link.</p>`}
          <p class="muted">We will email you a link. You do not need a password.</p>
          ${postForm(
            `${base}/sign-in`,
            html`${field('Your email', 'email', { type: 'email', required: '', autocomplete: 'email', autofocus: '' })}
              <button class="primary">Send link</button>`,
          )}
          ${accounts.hasSso && html`<p class="after"><a class="button" href="${base}/sign-in/sso">Use single sign-on</a></p>`}`,
      })
    })
    .post('/sign-in', async (c) => {
      limited(c)
      const email = fieldValue(await readForm(c), 'email')
      checkRate(limit, `mail ${email.toLowerCase()}`)
      checkEmail(email)
      // Not awaited, because the time or a failure would reveal who has an account.
      accounts
        .sendLink(email, c.req.raw.headers)
        .catch((error: unknown) => parts.log.error('could not send a sign-in link', error))
      return layout.page(c, {
        title: 'Check your email',
        isNarrow: true,
        body: html`<h1>Check your email</h1>
          <p>
            If <b>${email}</b> has an account, a link is on its way. It can be used once, within 10
            minutes.
          </p>
          <p class="muted">
            No email? If this server has no mail server configured, it prints the link to its log.
          </p>
          <p><a href="${base}/sign-in">Use another address</a></p>`,
      })
    })
    .get('/sign-in/sso', async (c) => {
      limited(c)
      if (!accounts.hasSso) throw serverErrors.NOT_FOUND('address')
      const { to, answer } = await accounts.startSso(c.req.raw.headers)
      return signedIn(c, answer, to)
    })
    .get('/sign-in/confirm', (c) => {
      // Email scanners open links, so only the button uses the token.
      const token = c.req.query('token') ?? ''
      return layout.page(c, {
        title: 'Sign in',
        isNarrow: true,
        body: html`<h1>Sign in to Retake</h1>
          ${postForm(
            `${base}/sign-in/confirm`,
            html`<input type="hidden" name="token" value="${token}" /><button
                class="primary"
                autofocus
              >
                Sign in on this device
              </button>`,
          )}`,
      })
    })
    .post('/sign-in/confirm', async (c) => {
      limited(c)
      const token = fieldValue(await readForm(c), 'token')
      const response = await accounts.useLink(token, c.req.raw.headers)
      return signedIn(c, response, takeTarget(c))
    })
    .post('/sign-out', async (c) => {
      const form = await readForm(c)
      const session = fieldValue(form, 'session')
      if (session !== '') {
        await accounts.endSession(access.person(c).id, session)
        return c.redirect(`${base}/?done=ended`, 303)
      }
      const isEverywhere = fieldValue(form, 'sessions') === 'all'
      const response = await accounts.signOut(c.req.raw.headers, isEverywhere ? 'all' : 'this')
      return signedIn(c, response, `${base}/sign-in?done=signed-out`)
    })
    .get('/device', (c) => {
      access.person(c)
      const code = c.req.query('user_code') ?? ''
      return layout.page(c, {
        title: 'Connect a command line',
        isNarrow: true,
        body: html`<h1>Connect a command line</h1>
          <p>
            <code>retake login</code> is asking to act as you. Continue only if you started it
            yourself and it shows this code.
          </p>
          ${postForm(
            `${base}/device`,
            html`${field('Code', 'code', { value: code, required: '', autocomplete: 'off', class: 'mono', ...(code === '' && { autofocus: '' }) })}
              <button class="primary">Connect</button>`,
          )}`,
      })
    })
    .post('/device', async (c) => {
      limited(c)
      access.person(c)
      await accounts.approveDevice(fieldValue(await readForm(c), 'code'), c.req.raw.headers)
      return layout.page(c, {
        title: 'Connected',
        isNarrow: true,
        body: html`<h1>Connected</h1>
          <p>The command line will continue on its own. You can close this page.</p>
          <p class="muted">
            It now has its own API key. You can revoke it on the organization's API keys page.
          </p>`,
      })
    })
    .get('/invitations/:id', async (c) => {
      const found = await accounts.invitation(c.req.param('id'))
      if (found === undefined) throw serverErrors.LINK_INVALID()
      return layout.page(c, {
        title: 'Invitation',
        isNarrow: true,
        body: html`<h1>Join ${found.organization}</h1>
          <p>This invitation is for <b>${found.email}</b>.</p>
          ${postForm(
            layout.at('invitations', c.req.param('id')),
            html`<input type="hidden" name="proof" value="${c.req.query('proof') ?? ''}" />
              ${field('Your name', 'name', { autocomplete: 'name', maxlength: '100', hint: 'Required only if you do not have an account yet' })}
              <button class="primary">Join</button>`,
          )}`,
      })
    })
    .post('/invitations/:id', async (c) => {
      limited(c)
      const form = await readForm(c)
      const [id, proof] = [c.req.param('id'), fieldValue(form, 'proof')]
      const found = await accounts.invitation(id)
      const response = await accounts.acceptInvitation(
        { id, proof, name: fieldValue(form, 'name').slice(0, 100) },
        c.req.raw.headers,
      )
      if (response === 'sign in first') {
        const to = `${layout.at('invitations', id)}?proof=${encodeURIComponent(proof)}`
        return c.redirect(`${base}/sign-in?to=${encodeURIComponent(to)}`, 303)
      }
      if (found !== undefined) {
        const actor = { org: found.org, user: found.email.toLowerCase(), role: 'member' } as const
        await database.inOrg(actor, (rows) => audit(rows, actor, 'member.join', found.email))
      }
      return signedIn(c, response, layout.first)
    })
    .get('/unsubscribe', async (c) => {
      const { title } = notifications.readUnsubscribe(c.req.query('token') ?? '')
      return layout.page(c, {
        title: 'Unsubscribe',
        isNarrow: true,
        body: html`<h1>Unsubscribe</h1>
          <p>You will no longer get emails about: ${title}.</p>
          ${postForm(`${base}/unsubscribe?token=${encodeURIComponent(c.req.query('token') ?? '')}`, html`<button class="primary">Unsubscribe</button>`)}`,
      })
    })
    .post('/unsubscribe', async (c) => {
      limited(c)
      await notifications.unsubscribe(c.req.query('token') ?? '')
      return layout.page(c, {
        title: 'Unsubscribed',
        isNarrow: true,
        body: html`<h1>Unsubscribed</h1>
          <p>You can change this at any time in the organization settings.</p>`,
      })
    })
}

export function needed(form: URLSearchParams, name: string, what: string, max = 100): string {
  const value = fieldValue(form, name)
  if (value === '' || value.length > max)
    throw serverErrors.REQUEST_INVALID(what, `It must have 1 to ${max} characters.`)
  return value
}
