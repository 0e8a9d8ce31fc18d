export {
  clientProvider,
  conversationMembers,
  findApi,
  PROVIDERS,
  routedProvider,
  scriptedAt,
} from './find-provider.js'
export {
  importedModelUrl,
  isContentAttribute,
  isInputAttribute,
  roleOfSpan,
} from './imported/index.js'
export type { SpanAttributes, SpanEvent, SpanRole } from './imported/index.js'
export { CallNumbers, messageText, toolCallsIn } from './specification/message.js'
export type { Message, MessagePart, ToolCallPart, ToolResultPart } from './specification/message.js'
export type { Price, PriceTable } from './specification/price.js'
export { costUsd, findPrice, PRICES, PRICES_AS_OF } from './cost.js'
export type {
  ArrivedRequest,
  Provider,
  ProviderAddress,
  ScriptedFormat,
} from './specification/provider.js'
export {
  makeReply,
  type Finish,
  type GivenReply,
  type ReplyRequest,
  type ReplyToolCall,
} from './specification/reply.js'
export type { ScriptedError, ScriptedUsage } from './specification/reply.js'
export { addUsage, NO_USAGE, type Usage } from './specification/usage.js'
export { jsonAnswer, type WireAnswer } from './specification/wire-answer.js'
