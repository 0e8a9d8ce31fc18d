import { bedrockEvent } from '@retake/tape'
import type { ModelRequest } from '../model-request.js'
import { replyId } from '../reply.js'
import type { Reply } from '../reply.js'
import type { WireAnswer, WireFormat } from '../wire-format.js'
import { jsonAnswer } from '../wire-format.js'
import { bedrockFailure, frameAnswer } from './bedrock-converse.js'
import { familyOf } from './bedrock-families.js'

/** Bedrock's InvokeModel, where each family of models has a body of its own. */
export const bedrockInvoke: WireFormat = {
  name: 'bedrock-invoke',
  path: /\/model\/.+\/invoke(-with-response-stream)?$/,
  answer: (reply, request) => (request.stream ? streamed(reply, request) : whole(reply, request)),
  isComputed: ({ body, model = '' }) => 'texts' in body || model.includes('embed'),
  failure: bedrockFailure,
}

const whole = (reply: Reply, request: ModelRequest): WireAnswer =>
  jsonAnswer(familyOf(request).whole(reply, request), {
    'x-amzn-requestid': replyId(reply, 'req-'),
    'x-amzn-bedrock-input-token-count': String(reply.usage.input),
    'x-amzn-bedrock-output-token-count': String(reply.usage.output),
    'x-amzn-bedrock-invocation-latency': '400',
    ...(reply.usage.cachedInput > 0 && {
      'x-amzn-bedrock-cache-read-input-token-count': String(reply.usage.cachedInput),
    }),
    ...(reply.usage.cacheWrite > 0 && {
      'x-amzn-bedrock-cache-write-input-token-count': String(reply.usage.cacheWrite),
    }),
  })

/** Each piece is the model's own JSON in base64; the last has what Bedrock counted. */
function streamed(reply: Reply, request: ModelRequest): WireAnswer {
  const { input, output, cachedInput, cacheWrite } = reply.usage
  const metrics = {
    inputTokenCount: input,
    outputTokenCount: output,
    invocationLatency: 400,
    firstByteLatency: 200,
    ...(cachedInput > 0 && { cacheReadInputTokenCount: cachedInput }),
    ...(cacheWrite > 0 && { cacheWriteInputTokenCount: cacheWrite }),
  }
  const chunks = familyOf(request).chunks(reply, request)
  const last = chunks.length - 1
  const frames = chunks.map((chunk, index) => {
    const told = index === last ? { ...chunk, 'amazon-bedrock-invocationMetrics': metrics } : chunk
    return bedrockEvent('chunk', { bytes: Buffer.from(JSON.stringify(told)).toString('base64') })
  })
  return frameAnswer(reply, frames)
}
