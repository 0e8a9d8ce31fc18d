import { Deadline } from '@retake/tape/format'
import { reason } from '@retake/engine/errors'
import { genericOAuth } from 'better-auth/plugins'
import type { Settings } from '../edge/settings.js'

/** Id of the provider, which is part of addresses. */
export const SIGN_ON = 'sso'

const ANSWER_MS = 5000

const addressOf = (issuer: URL): string =>
  `${issuer.href.replace(/\/$/, '')}/.well-known/openid-configuration`

/** The OpenID Connect provider of the settings; none without an issuer and a client id. */
export function signOnPlugins({ oidcIssuer, oidcClientId, oidcClientSecret }: Settings) {
  if (oidcIssuer === undefined || oidcClientId === undefined) return []
  const provider = {
    providerId: SIGN_ON,
    discoveryUrl: addressOf(oidcIssuer),
    clientId: oidcClientId,
    ...(oidcClientSecret !== undefined && { clientSecret: oidcClientSecret }),
    scopes: ['openid', 'email', 'profile'],
    pkce: true,
    requireIdTokenVerification: true,
    // Otherwise, every user of the provider could create an account without an invitation.
    disableSignUp: true,
  }
  return [genericOAuth({ config: [provider] })]
}

/** Why the provider cannot be used; undefined if its issuer matches the setting. */
export async function signOnProblem(oidcIssuer: URL): Promise<string | undefined> {
  const issuer = oidcIssuer.href.replace(/\/$/, '')
  try {
    using deadline = new Deadline({ ms: ANSWER_MS })
    const response = await fetch(addressOf(oidcIssuer), { signal: deadline.signal })
    if (!response.ok)
      return `${issuer} responded with status ${response.status}; check RETAKE_OIDC_ISSUER`
    const found = (await response.json()) as { issuer?: string }
    return found.issuer?.replace(/\/$/, '') === issuer
      ? undefined
      : `${issuer} reports its issuer as ${String(found.issuer)}; set RETAKE_OIDC_ISSUER to that`
  } catch (error) {
    return `${issuer} is not responding: ${reason((error as { cause?: unknown }).cause ?? error)}`
  }
}
