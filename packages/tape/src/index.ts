/** Reading tapes: the format, the read model, providers, prices and edits. */
export * from './edit/index.js'
export type * from './findings/blame-findings.js'
export * from './format/index.js'
export * from './guards/index.js'
export * from './http/index.js'
export * from './secrets/index.js'
export { retryAfterMs } from './http/retry-after.js'
export type { SseEvent, TimedChunk } from './http/sse.js'
export * from './providers/index.js'
export type { AnswerFrame, FrameLimits } from './read-model/answer-frames.js'
export { eventLines, type EventLine } from './read-model/event-lines.js'
export { readModelRequest } from './read-model/exchange.js'
export type { Exchange, ExchangeRequest, ExchangeResponse } from './read-model/exchange.js'
export type { BodyDecoders } from './read-model/http-answer.js'
export type { Lane } from './read-model/lanes.js'
export type { IndexedFileCall } from './read-model/run-index.js'
export type { NotCaptured } from './read-model/not-captured.js'
export { type ReadOptions, readRun, type RunView } from './read-model/run-view.js'
export { setNewest, sumKnown } from './format/values/collections.js'
export { hashBytes, hashText } from './format/values/hash-text.js'
export { originOf, type StepOrigin } from './edit/step-origin.js'
export { summarizeStep } from './read-model/step.js'
export type { CallDetail, Step, StepGuard, StepKind, StepState } from './read-model/step.js'
export { readStdioExchange, readStdioParams } from './read-model/mcp/stdio-session.js'
export { StdioSession, type StdioRequest } from './read-model/mcp/stdio-session.js'
export type { McpExchange, McpNotification, RpcId } from './read-model/mcp/json-rpc.js'
export { isCostUnknown, type RunTotals } from './read-model/step.js'
export type { CapturedState, CapturedVariable, CodeLocation } from './state/captured-state.js'
export {
  stateDifference,
  statePath,
  type StateChange,
  type StateChanges,
} from './state/state-difference.js'
export { draftReceipt, type DisclosedStep, type ReceiptDraft } from './receipts/make-receipt.js'
export { checkReceipt, issueReceipt } from './receipts/receipt.js'
export type { CheckedReceipt, ProvenCall, ReceiptContent } from './receipts/receipt.js'
export { BLAME_ROLES, type RunBlame, readRunBlame } from './findings/run-blame.js'
export {
  type AppliedFixView,
  type FixClaim,
  type FixView,
  type RunFix,
} from './findings/run-fix.js'
export type { RunCard } from './findings/run-card.js'
export type * from './findings/run-comparison.js'
export type { TrialTable } from './findings/trial-table.js'
export type { ShownDecision, WaitingApproval } from './findings/waiting-approval.js'

export {
  FORMAT_RULES,
  type FormatCode,
  type FormatProblem,
  type FormatReport,
  validateTape,
} from './validate/validate-tape.js'
export { mapConcurrent } from './format/values/map-concurrent.js'
