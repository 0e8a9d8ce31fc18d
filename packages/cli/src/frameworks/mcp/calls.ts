import { requireVersion } from '../supported-version.js'

/** Calls of a client that may ask its server. */
export const CALLS = [
  'connect',
  'discover',
  'ping',
  'complete',
  'setLoggingLevel',
  'listTools',
  'callTool',
  'listPrompts',
  'getPrompt',
  'listResources',
  'listResourceTemplates',
  'readResource',
  'subscribeResource',
  'unsubscribeResource',
  'sendRootsListChanged',
  'request',
  'notification',
]

/** Both generations of the SDK are known. */
export const requireMcp = (client: object): void =>
  requireVersion(
    'discover' in client
      ? { package: '@modelcontextprotocol/client', from: '2.0', to: '2' }
      : { package: '@modelcontextprotocol/sdk', from: '1.10', to: '1' },
  )
