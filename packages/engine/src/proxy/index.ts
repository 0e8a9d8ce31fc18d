/**
 * Records and replays programs of any language through a proxy on the loopback address. A separate
 * entry point, so that agents that load the engine do not load it.
 */
export {
  redirectVariables,
  sessionVariables,
  type RedirectedVariables,
} from './base-url-variables.js'
export { CertificateAuthority } from './certificate-authority.js'
export { ClientProcess } from './client-process.js'
export { compareCommand, type ProxiedCommandEnd } from './compare-command.js'
export { loadMatchers, MATCHERS, DEFAULT_MATCHERS, type RequestMatcher } from './matchers.js'
export { ProxyServer } from './proxy-server.js'
export {
  openProxyTape,
  type ProxyTapeOptions,
  RecordingProxy,
  type RecordingProxyOptions,
} from './recording-proxy.js'
export { ReplayingProxy, type ReplayingProxyOptions } from './replaying-proxy.js'
export { parseUpstreams, type Route } from './routes.js'
export { ownCertificates, TRUST_VARIABLES, UpstreamConnections } from './upstream-connections.js'
export { SecretMask } from '../secrets/secrets.js'
