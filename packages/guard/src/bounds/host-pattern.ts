import { RetakeError } from '@retake/engine/hook'
import { canonicalHost, type CanonicalHost } from './canonical-host.js'

/** An entry of an allow list, such as `api.example.com`, `*.example.com`, `example.com:8443` or `[2001:db8::1]:443`. */
export interface HostPattern {
  readonly text: string
  /** In the canonical spelling of hosts; without the `*.` of a wildcard. */
  readonly name: string
  /** `some`: every name below it, not the name itself. `every`: all names. */
  readonly below: 'none' | 'some' | 'every'
  /** Any when undefined. */
  readonly port: number | undefined
}

export function hostPattern(text: string): HostPattern {
  const [, host = '', port] =
    /^(\[.*\]|[^:]*|[^[\]]*:[^[\]]*:[^[\]]*?)(?::(\d+|\*))?$/.exec(text) ?? []
  const parsed = { text, port: port === undefined || port === '*' ? undefined : Number(port) }
  if (host === '*') return { ...parsed, name: '', below: 'every' }
  const isWild = host.startsWith('*.')
  const found = canonicalHost(isWild ? host.slice(2) : host)
  if (found === undefined || found.name.includes('*') || (parsed.port ?? 1) > 65_535)
    throw invalidScope('allow', text, '`api.example.com`, `*.example.com` or `example.com:8443`')
  return { ...parsed, name: found.name, below: isWild ? 'some' : 'none' }
}

/** True if a pattern matches a host; without a port only the name counts. */
export function fitsPattern(
  { name }: CanonicalHost,
  port: number | undefined,
  pattern: HostPattern,
): boolean {
  if (pattern.port !== undefined && port !== undefined && pattern.port !== port) return false
  if (pattern.below === 'every') return true
  return pattern.below === 'some' ? name.endsWith(`.${pattern.name}`) : name === pattern.name
}

export const invalidScope = (list: string, text: string, examples: string): RetakeError =>
  new RetakeError(
    'NETWORK_SCOPE_INVALID',
    `"${text}" in the list \`${list}\` of a network scope cannot be read.`,
    'A policy that is not understood protects nothing.',
    `Write entries such as ${examples}.`,
  )
