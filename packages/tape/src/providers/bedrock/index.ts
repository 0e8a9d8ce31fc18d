import type { Provider, ProviderAddress } from '../specification/provider.js'
import { replyId } from '../specification/reply.js'
import { jsonAnswer, retryHeaders } from '../specification/wire-answer.js'
import { bedrockConverse } from './converse.js'
import { bedrockInvoke } from './invoke.js'
import { BEDROCK_PRICES } from './prices.js'

const address: ProviderAddress = {
  route: 'bedrock',
  whenSet: ['AWS_ENDPOINT_URL_BEDROCK_RUNTIME'],
  paths: /^\/model\/[^/]+\/(invoke|converse)/,
  // Requires a bearer token: a signature would cover the address of the proxy.
  within: (env) => {
    const region = env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION']
    if (!env['AWS_BEARER_TOKEN_BEDROCK'] || !region) return address
    const base = `https://bedrock-runtime.${region}.amazonaws.com`
    return { ...address, base, variables: address.whenSet ?? [], whenSet: [] }
  },
  keys: ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'],
  testVariables: { AWS_REGION: 'us-east-1', AWS_EC2_METADATA_DISABLED: 'true' },
}

const EXCEPTIONS: Readonly<Record<number, string>> = {
  400: 'ValidationException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  408: 'ModelTimeoutException',
  424: 'ModelErrorException',
  429: 'ThrottlingException',
  500: 'InternalServerException',
  503: 'ServiceUnavailableException',
}

/** AWS Bedrock, which serves models of other makers through two APIs of its own. */
export const bedrock: Provider = {
  name: 'bedrock',
  apis: [bedrockConverse, bedrockInvoke],
  hosts: /(^|\.)(bedrock[a-z-]*\..*amazonaws\.com(\.cn)?|bedrock-mantle\..*\.api\.aws)$/,
  address,
  prices: BEDROCK_PRICES,
  modelPrefixes: ['bedrock'],
  failure: (error, request) => {
    const { status, message } = error
    const fallback = status >= 500 ? 'InternalServerException' : 'ValidationException'
    const headers = {
      // The error class is in a header.
      'x-amzn-errortype': error.code ?? EXCEPTIONS[status] ?? fallback,
      'x-amzn-requestid': replyId(request, 'req-'),
      ...retryHeaders(error),
    }
    return jsonAnswer({ message }, headers, status)
  },
}
