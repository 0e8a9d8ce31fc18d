const PATH = /\/model\/([^/]+)\/(converse|converse-stream|invoke|invoke-with-response-stream)$/

interface BedrockPath {
  /** Id of a model, a profile or an ARN. */
  readonly model: string
  readonly action: 'converse' | 'invoke'
  readonly stream: boolean
}

/** Parses the path of a request to Bedrock; the id in it is escaped. */
export const bedrockPath = (url: URL): BedrockPath | undefined => {
  // An ARN has slashes, which some clients escape and some do not.
  const path = url.pathname.replace(/(\/model\/arn[^/]*)\/([^/]+)(?=\/[^/]+$)/, '$1%2F$2')
  const [, id = '', action = ''] = PATH.exec(path) ?? []
  if (id === '') return undefined
  return {
    model: unescape(id),
    action: action.startsWith('converse') ? 'converse' : 'invoke',
    stream: action.endsWith('stream'),
  }
}

const unescape = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
