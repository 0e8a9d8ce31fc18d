import type { NetworkScope } from './network-scope.js'
import type { Scopes } from './scopes.js'

/** A network scope, ready to be asked. */
export function networkBounds(
  _policy: string,
  _scope: NetworkScope,
): NonNullable<Scopes['network']> {
  return {
    checkRequest: () => undefined,
    checkHost: () => undefined,
    checkAddress: () => undefined,
    inspect: () => undefined,
  }
}
