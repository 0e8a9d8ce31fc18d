import { PROVIDERS } from '@retake/tape'
import { redirectVariables } from '../proxy/base-url-variables.js'

/** Stands for the base URL of providers without a public address: only its path is used. */
const ANY_ADDRESS = 'https://anywhere.invalid'

/**
 * Variables that lead the SDKs of all known providers to a server, each below
 * the provider's own path, with keys that open nothing.
 */
export function serverVariables(url: string): Record<string, string> {
  const addresses = PROVIDERS.flatMap(({ address }) => address ?? [])
  const given = addresses.flatMap(({ base = ANY_ADDRESS, variables, whenSet = [] }) =>
    [...variables, ...whenSet].map((variable) => [variable, base] as const),
  )
  const names = addresses.flatMap(({ keys = [] }) => keys)
  const keys = Object.fromEntries(names.map((name) => [name, madeUp(name)]))
  const { variables } = redirectVariables({ ...keys, ...Object.fromEntries(given) })
  return Object.fromEntries([
    ...Object.entries(variables).map(([name, path]) => [name, url + path] as const),
    ...Object.entries(keys),
    ...addresses.flatMap(({ testVariables = {} }) => Object.entries(testVariables)),
  ])
}

const madeUp = (name: string): string => `made-up-${name.toLowerCase().replaceAll('_', '-')}`
