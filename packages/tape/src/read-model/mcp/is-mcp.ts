import { recordOf } from '../../providers/json-shape.js'
import type { RpcFrame } from './json-rpc.js'

/** Methods that no other protocol over JSON-RPC has. `tasks/…` and `ping` are used by others too. */
const METHOD =
  /^(server\/discover|(tools|resources|prompts|sampling|elicitation|roots|completion|logging|subscriptions|notifications)\/.+)$/

/** Whether a message belongs to the Model Context Protocol, going by itself alone. */
export const isMcpFrame = (frame: RpcFrame): boolean => {
  if (frame.kind === 'answer') return false
  if (METHOD.test(frame.method)) return true
  // Others shake hands by `initialize` as well; here versions are dates.
  const { protocolVersion } = recordOf(frame.params)
  return (
    frame.method === 'initialize' &&
    typeof protocolVersion === 'string' &&
    /^\d{4}-\d\d-\d\d$/.test(protocolVersion)
  )
}
