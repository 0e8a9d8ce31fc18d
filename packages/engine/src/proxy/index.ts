/**
 * Recording and replaying programs of any language through a proxy on the
 * loopback. A door of its own: agents that load the engine do not load this.
 */
export { redirectVariables } from './base-url-variables.js'
export type { RedirectedVariables } from './base-url-variables.js'
export { compareCommand } from './compare-command.js'
export type { CommandEnd } from './compare-command.js'
export { KNOWN_PROVIDERS } from './known-providers.js'
export { loadMatchers, MATCHERS, DEFAULT_MATCHERS } from './matchers.js'
export type { Matcher } from './matchers.js'
export { openProxyTape } from './open-proxy-tape.js'
export type { ProxyTapeOptions } from './open-proxy-tape.js'
export type { ProxyRequest } from './proxy-request.js'
export { ProxyServer } from './proxy-server.js'
export { RecordingProxy } from './recording-proxy.js'
export type { RecordingProxyOptions } from './recording-proxy.js'
export { ReplayingProxy } from './replaying-proxy.js'
export type { ReplayingProxyOptions } from './replaying-proxy.js'
export { parseUpstreams } from './routes.js'
export type { Route } from './routes.js'
export { SecretMask } from '../secrets.js'
