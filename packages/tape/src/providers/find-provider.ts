import { defined, errorMessage } from '../values/json-shape.js'
import * as list from './list.js'
import { openai } from './openai/index.js'
import type { AnswerFormat, ArrivedRequest, ModelApi, Provider } from './provider.js'
import type { ProviderRequest, ScriptedFormat } from './provider.js'

/** OpenAI is first: many others have its paths. */
export const PROVIDERS: readonly Provider[] = [
  openai,
  ...Object.values(list)
    .flat()
    .filter((provider) => provider !== openai),
]

export const APIS: readonly ModelApi[] = PROVIDERS.flatMap(({ apis = [] }) => apis)

/** Any other HTTP exchange: no messages, but the error it reports. */
export const unknownHttp: ModelApi = {
  provider: 'http',
  api: 'http',
  matches: () => true,
  decodeRequest: () => ({ stream: false, messages: [] }),
  decodeResponse: ({ status, json }) =>
    defined({ messages: [], error: status >= 400 ? errorMessage(json) : undefined }),
}

/** The API of a request, with the provider that answers; `unknownHttp` if no model does. */
export const findApi = (request: ProviderRequest): ModelApi => {
  const api = APIS.find((candidate) => candidate.matches(request))
  if (api === undefined) return unknownHttp
  const provider = api.providerAt?.(request.url) ?? serverName(request.url) ?? api.provider
  return provider === api.provider ? api : { ...api, provider }
}

/**
 * The provider at a URL if the URL names one. Behind a proxy, parts of the path
 * that only one provider has name it.
 */
const serverName = (url: URL): string | undefined =>
  (
    PROVIDERS.find(({ hosts }) => hosts?.test(url.hostname) === true) ??
    PROVIDERS.find(({ isServer }) => isServer?.(url) === true)
  )?.name

/** How an API writes its answers; `undefined` if they cannot be edited as a document. */
export const answerFormat = (api: string): AnswerFormat | undefined =>
  APIS.find((each) => each.api === api)?.answers

/** The provider with a route of this name, or with its public address on the host of a URL. */
export const routedProvider = (route: string, upstream?: string): Provider | undefined =>
  PROVIDERS.find(({ address }) => address?.route === route) ??
  PROVIDERS.find(
    ({ address }) =>
      address?.base !== undefined &&
      upstream !== undefined &&
      new URL(address.base).host === new URL(upstream).host,
  )

/** The provider that a client means to reach: by its own marks, by route, or by path. */
export const clientProvider = (request: Pick<ArrivedRequest, 'path' | 'headers'>): Provider => {
  const [, route = ''] = /^\/([\w-]+)/.exec(request.path) ?? []
  return (
    PROVIDERS.find(({ isClient }) => isClient?.(request) === true) ??
    PROVIDERS.find(({ address }) => address?.route === route) ??
    PROVIDERS.find(({ address }) => address?.paths.test(request.path) === true) ??
    openai
  )
}

/** The format in which the test model server answers a path, and the provider that owns it. */
export const scriptedAt = (
  path: string,
): { readonly format: ScriptedFormat; readonly owner: Provider } | undefined => {
  for (const owner of PROVIDERS) {
    const formats = (owner.apis ?? []).flatMap(({ scripted = [] }) => scripted)
    const format = formats.find((each) => each.path.test(path))
    if (format !== undefined) return { format, owner }
  }
  return undefined
}
