import { eventFrameBytes } from '../http/event-frame-bytes.js'

/** An event of Bedrock, such as `contentBlockDelta`, or an exception, as its server sends it. */
export const bedrockEvent = (event: string, value: unknown): Uint8Array => {
  const isException = /exception$/i.test(event)
  return eventFrameBytes(
    {
      [isException ? ':exception-type' : ':event-type']: event,
      ':content-type': 'application/json',
      ':message-type': isException ? 'exception' : 'event',
    },
    JSON.stringify(value),
  )
}
