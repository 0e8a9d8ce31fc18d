import { defined, errorMessage } from '../format/values/json-shape.js'
import * as list from './list.js'
import { openai } from './openai/index.js'
import type { AnswerFormat, ArrivedRequest, ModelApi, Provider } from './specification/provider.js'
import type { ProviderRequest, ScriptedFormat } from './specification/provider.js'

/** OpenAI comes first: many others use its paths. */
export const PROVIDERS: readonly Provider[] = [
  openai,
  ...Object.values(list)
    .flat()
    .filter((provider) => provider !== openai),
]

export const APIS: readonly ModelApi[] = PROVIDERS.flatMap(({ apis = [] }) => apis)

/** Any other HTTP exchange: no messages, only the reported error. */
export const unknownHttp: ModelApi = {
  provider: 'http',
  api: 'http',
  conversation: [],
  matches: () => true,
  decodeRequest: () => ({ stream: false, messages: [] }),
  decodeResponse: ({ status, json }) =>
    defined({ messages: [], error: status >= 400 ? errorMessage(json) : undefined }),
}

/** The API of a request, with the provider that answers it; `unknownHttp` if it is not a model request. */
export const findApi = (request: ProviderRequest): ModelApi => {
  const api = APIS.find((candidate) => candidate.matches(request))
  if (api === undefined) return unknownHttp
  const { url } = request
  const provider =
    api.providerAt?.(url) ??
    PROVIDERS.find(({ hosts }) => hosts?.test(url.hostname) === true)?.name ??
    // Behind a proxy, it is recognised by path segments that only one provider uses.
    PROVIDERS.find(({ isServer }) => isServer?.(url) === true)?.name ??
    api.provider
  return provider === api.provider ? api : { ...api, provider }
}

/** Request members that contain the conversation, for one API or for all. */
export const conversationMembers = (api?: string): ReadonlySet<string> =>
  new Set(
    APIS.filter((each) => api === undefined || each.api === api).flatMap(
      ({ conversation }) => conversation,
    ),
  )

/** The answer format of an API; `undefined` if its answers cannot be edited as a document. */
export const answerFormat = (api: string): AnswerFormat | undefined =>
  APIS.find((each) => each.api === api)?.answers

/** The provider with a route of this name, or whose public address has the host of the URL. */
export const routedProvider = (route: string, upstream?: string): Provider | undefined =>
  PROVIDERS.find(({ address }) => address?.route === route) ??
  PROVIDERS.find(
    ({ address }) =>
      address?.base !== undefined &&
      upstream !== undefined &&
      new URL(address.base).host === new URL(upstream).host,
  )

/** The provider that a client wants to reach: by the client's own marks, by route, or by path. */
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
