import type { Provider, ProviderAddress } from '../provider.js'
import { bedrockConverse } from './converse.js'
import { bedrockFailure } from './encode.js'
import { bedrockInvoke } from './invoke.js'
import { BEDROCK_PRICES } from './prices.js'

const address: ProviderAddress = {
  route: 'bedrock',
  variables: [],
  whenSet: ['AWS_ENDPOINT_URL_BEDROCK_RUNTIME'],
  paths: /^\/model\/[^/]+\/(invoke|converse)/,
  // Only with a bearer token: a signature is made for the address that the client sees, the proxy's.
  within: (env) => {
    const region = env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION']
    if (!env['AWS_BEARER_TOKEN_BEDROCK'] || !region) return address
    const base = `https://bedrock-runtime.${region}.amazonaws.com`
    return { ...address, base, variables: address.whenSet ?? [], whenSet: [] }
  },
  keys: ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'],
  testVariables: { AWS_REGION: 'us-east-1', AWS_EC2_METADATA_DISABLED: 'true' },
}

/** AWS Bedrock, which serves models of others in two APIs of its own. */
export const bedrock: Provider = {
  name: 'bedrock',
  apis: [bedrockConverse, bedrockInvoke],
  hosts: /(^|\.)(bedrock[a-z-]*\..*amazonaws\.com(\.cn)?|bedrock-mantle\..*\.api\.aws)$/,
  address,
  prices: BEDROCK_PRICES,
  modelPrefixes: ['bedrock'],
  failure: bedrockFailure,
}
