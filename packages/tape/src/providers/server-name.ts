/** Hosts that answer in a format of somebody else, or in several. */
const HOSTS: readonly (readonly [host: RegExp, name: string])[] = [
  [/(^|\.)openai\.azure\.com$/, 'azure'],
  [/(^|\.)(cognitiveservices|services\.ai|inference\.ai)\.azure\.com$/, 'azure'],
  [/(^|\.)api\.groq\.com$/, 'groq'],
  [/(^|\.)mistral\.ai$/, 'mistral'],
  [/(^|\.)openrouter\.ai$/, 'openrouter'],
  [/(^|\.)deepseek\.com$/, 'deepseek'],
  [/(^|\.)x\.ai$/, 'xai'],
  [/(^|-|\.)aiplatform\.googleapis\.com$/, 'vertex'],
  [/(^|\.)generativelanguage\.googleapis\.com$/, 'google'],
  [/(^|\.)bedrock[a-z-]*\..*amazonaws\.com(\.cn)?$/, 'bedrock'],
  [/(^|\.)bedrock-mantle\..*\.api\.aws$/, 'bedrock'],
  [/(^|\.)together\.(xyz|ai)$/, 'together'],
  [/(^|\.)fireworks\.ai$/, 'fireworks'],
  [/(^|\.)cerebras\.ai$/, 'cerebras'],
  [/(^|\.)ollama\.com$/, 'ollama'],
]

/**
 * Who answers at an address, when that is somebody else than the one whose
 * format it is; `undefined` when the address does not tell. Behind a proxy it
 * is told by what of the path is peculiar to one provider.
 */
export const serverName = ({ hostname, port, pathname }: URL): string | undefined => {
  const known = HOSTS.find(([host]) => host.test(hostname))
  if (known !== undefined) return known[1]
  if (port === '11434') return 'ollama'
  if (/\/openai\/deployments\/[^/]+\//.test(pathname)) return 'azure'
  if (/\/publishers\/[^/]+\/models\//.test(pathname)) return 'vertex'
  return undefined
}
