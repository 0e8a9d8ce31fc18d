import { RetakeError } from '../errors.js'

/** What goes wrong at the proxy. Each code has a page in docs/errors. */
export const proxyErrors = {
  upstreamInvalid: (text: string) =>
    new RetakeError(
      'UPSTREAM_INVALID',
      `"${text}" is no address of a provider.`,
      'It has to be a URL, with a name before it if there are several.',
      'For example: --upstream openai=https://api.openai.com.',
    ),
  upstreamTwice: (name: string) =>
    new RetakeError(
      'UPSTREAM_TWICE',
      `There are two upstreams called "${name}".`,
      'The name is the first part of the path that leads to it.',
      'Give each its own: --upstream first=https://… --upstream second=https://….',
    ),
  portTaken: (port: number, cause: unknown) =>
    new RetakeError(
      'PROXY_PORT_TAKEN',
      `The proxy cannot listen on port ${port}.`,
      `The system said: ${cause instanceof Error ? cause.message : String(cause)}.`,
      'Choose another one with --port; 0 takes any that is free.',
      { cause },
    ),
  noRoute: (method: string, target: string, routes: readonly { readonly name: string }[]) =>
    new RetakeError(
      'PROXY_NO_ROUTE',
      `It is not known which provider ${method} ${target} is for.`,
      `The proxy leads to ${routes.map(({ name }) => `/${name}/…`).join(', ')}.`,
      'Put the name of the provider before the path, or add it with --upstream name=URL.',
    ),
  miss: (request: string, why: string) =>
    new RetakeError(
      'PROXY_MISS',
      `The tape has no answer to ${request}.`,
      why,
      'Name what may differ from run to run with --matcher, or record again.',
    ),
  answerCutOff: (request: string) =>
    new RetakeError(
      'PROXY_ANSWER_CUT_OFF',
      `The tape has no answer to ${request}.`,
      'The recording was cut off before it came.',
      'Record again.',
    ),
  badRequest: (said: string) =>
    new RetakeError(
      'PROXY_BAD_REQUEST',
      'This is no request that the proxy understands.',
      `It was read as HTTP/1.1: ${said}.`,
      'Check the client; nothing was sent to a provider.',
    ),
  noTunnel: (what: string) =>
    new RetakeError(
      'PROXY_NO_TUNNEL',
      `The proxy does not open ${what}.`,
      'It stands in for the provider: what goes through a tunnel could be neither recorded nor replayed.',
      'Set the base URL of the SDK to the proxy; do not use it as HTTPS_PROXY.',
    ),
  bodyTooLarge: (bytesMax: number) =>
    new RetakeError(
      'PROXY_BODY_TOO_LARGE',
      `The body of the request is larger than ${bytesMax} bytes.`,
      'It has to be on the tape before it leaves, so it is held in memory for a moment.',
      'Send less at once; nothing was sent to the provider.',
    ),
  notRecording: (said: string) =>
    new RetakeError(
      'PROXY_NOT_RECORDING',
      'The request was not sent, because it cannot be recorded.',
      `The tape cannot be written: ${said}`,
      'Make room on the disk and start again.',
    ),
  upstreamFailed: (said: string) =>
    new RetakeError(
      'UPSTREAM_FAILED',
      'The provider gave no answer.',
      `The proxy asked it, and: ${said}.`,
      'See whether the address is right and the provider can be reached.',
    ),
  unknownMatcher: (name: string, names: readonly string[]) =>
    new RetakeError(
      'UNKNOWN_MATCHER',
      `There is no matcher "${name}".`,
      `There are ${names.join(', ')}.`,
      'Name one of these, or a file: --matcher ./matcher.mjs.',
    ),
  matcherUnusable: (file: string, why: string) =>
    new RetakeError(
      'MATCHER_UNUSABLE',
      `The matcher ${file} cannot be used.`,
      `${why}.`,
      'A matcher is a module: export default (request) => ({ ...request, body: … }).',
    ),
}
