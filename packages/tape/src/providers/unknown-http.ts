import { errorMessage } from './json-shape.js'
import type { ProviderDecoder } from './provider-decoder.js'

/** Any HTTP exchange that no decoder knows: no messages, but the error it reports. */
export const unknownHttp: ProviderDecoder = {
  name: 'http',
  api: 'http',
  matches: () => true,
  decodeRequest: () => ({ stream: false, messages: [] }),
  decodeResponse: ({ status, json }) => {
    const error = status >= 400 ? errorMessage(json) : undefined
    return { messages: [], ...(error !== undefined && { error }) }
  },
}
