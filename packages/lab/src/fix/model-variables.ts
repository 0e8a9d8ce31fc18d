import { containsSecret } from '@retake/engine/runs'
import type { ReachableAddress } from '@retake/runner/sandbox'
import { PROVIDERS } from '@retake/tape'

export interface ModelAddress extends ReachableAddress {
  readonly isEncrypted: boolean
}

/** Where models are, according to variables. */
export interface ModelVariables {
  /** Variables with an address, and the keys for it. */
  readonly names: ReadonlySet<string>
  readonly endpoints: readonly ModelAddress[]
}

/** Variables with a key of a known provider. */
export const PROVIDER_KEYS: ReadonlySet<string> = new Set(
  PROVIDERS.flatMap(({ address }) => address?.keys ?? []),
)

/**
 * Addresses in variables that SDKs of known providers read, or that the code names. Keys are those of
 * these providers; for a variable that the code names, keys that it names as well, of any provider or
 * with a name that starts alike: `LLM_KEY` for `LLM_URL`.
 */
export function modelVariables(
  env: Readonly<Record<string, string | undefined>>,
  named: ReadonlySet<string>,
): ModelVariables {
  const names = new Set<string>()
  const endpoints = new Map<string, ModelAddress>()
  const addAddress = (name: string): boolean => {
    const url = env[name] ?? ''
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return false
    const address = addressOf(url)
    names.add(name)
    endpoints.set(`${address.host}:${address.port}`, address)
    return true
  }
  for (const { address } of PROVIDERS) {
    const { variables = [], whenSet = [], keys = [] } = address?.within?.(env) ?? address ?? {}
    const found = [...variables, ...whenSet].filter(addAddress)
    if (found.length > 0) for (const key of keys) names.add(key)
  }
  const secrets = [...named].filter((name) => env[name] && containsSecret(name, env[name]))
  for (const name of named) {
    if (names.has(name) || secrets.includes(name) || !addAddress(name)) continue
    const start = `${name.split('_')[0]}_`
    for (const key of secrets) if (PROVIDER_KEYS.has(key) || key.startsWith(start)) names.add(key)
  }
  return { names, endpoints: [...endpoints.values()] }
}

/** The address of a URL. */
export function addressOf(url: string): ModelAddress {
  const { hostname, port, protocol } = new URL(url)
  const isEncrypted = protocol !== 'http:'
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return { host, port: Number(port || (isEncrypted ? 443 : 80)), isEncrypted }
}
