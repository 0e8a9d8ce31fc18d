export { clipText } from './format/clip-text.js'
export { driftText } from './format/drift-text.js'
export * from './format/events.js'
export type * from './findings/blame-findings.js'
export type * from './findings/span-findings.js'
export * from './format/guard-facts.js'
export * from './http/http1.js'
export * from './values/recorded-error.js'
export * from './values/values.js'
export * from './format/environment-reads.js'
export { hasKeyShape, keyShapes, maskKeys } from './format/key-shapes.js'
export type { ByteSource, Sha256, TapePlatform } from './format/platform.js'
export * from './edit/index.js'
export { invariant, TapeError, valueTooLarge, type TapeErrorCode } from './format/errors.js'
export type { SignatureState } from './format/seal.js'
export type { TapeStatus } from './format/layout.js'
export { Tape } from './format/tape.js'
export type { VerifyResult } from './format/verify.js'
export * from './providers/index.js'
export type { SseEvent, TimedChunk } from './http/sse.js'
export type { AnswerFrame, FrameLimits } from './read-model/answer-frames.js'
export { eventLines, type EventLine } from './read-model/event-lines.js'
export {
  bodyToText,
  GUARD_NOTES,
  type ApprovedNote,
  type DecidedAgainNote,
  type GuardEnvironment,
  type GuardOpened,
  type LeftOpenNote,
  type NestedCallNote,
  type NestedResultNote,
  type ResumedRun,
  type SpentNote,
} from './read-model/guard-note.js'
export {
  guardSavings,
  SavingsTally,
  type GuardSavings,
  type SavedFigure,
  type SavedStep,
  type SettledCall,
} from './read-model/guard-savings.js'
export {
  guardedCalls,
  readGuards,
  type GuardedCallOnTape,
  type GuardOnTape,
  type GuardsOnTape,
  type SpentOnTape,
} from './read-model/guarded-calls.js'
export type { Exchange, ExchangeRequest, ExchangeResponse } from './read-model/exchange.js'
export type { BodyDecoders } from './read-model/http-answer.js'
export type { Lane } from './read-model/lanes.js'
export { SITE_NOTE, type FileCall } from './read-model/run-index.js'
export { plainJson } from './read-model/plain-json.js'
export { readRun } from './read-model/read-run.js'
export type { NotCaptured, ReadOptions, RunView } from './read-model/run-view.js'
export { originOf, type StepOrigin } from './read-model/step-origin.js'
export { summarizeStep } from './read-model/step.js'
export type { CallDetail, Step, StepGuard, StepKind, StepState } from './read-model/step.js'
export { readStdioExchange, readStdioParams } from './read-model/mcp/stdio-exchange.js'
export { StdioSession, type StdioRequest } from './read-model/mcp/stdio-session.js'
export type { RpcId } from './read-model/mcp/json-rpc.js'
export type { McpExchange, McpNotification } from './read-model/mcp/mcp-exchange.js'
export type { TapeLike } from './read-model/tape-like.js'
export { isCostUnknown, type RunTotals } from './read-model/totals.js'
export { DESCRIBED_WORDS } from './state/described-words.js'
export type { CapturedState, CapturedVariable, CodeLocation } from './state/captured-state.js'
export {
  stateDifference,
  statePath,
  type StateChange,
  type StateChanges,
} from './state/state-difference.js'
