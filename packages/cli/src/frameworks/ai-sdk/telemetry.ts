import { within } from '@retake/engine'
import { requireAiSdk } from './supported.js'

/** What is read of a call that AI SDK 7 is about to make. */
interface Work<T> {
  readonly callId: string
  readonly functionId?: string | undefined
  readonly execute: () => PromiseLike<T>
}
interface ToolWork<T> extends Work<T> {
  readonly toolCallId: string
  readonly toolCall?: { readonly toolName?: string } | undefined
}

/** The part of AI SDK 7's `Telemetry` that runs work in a context. */
export interface RetakeTelemetry {
  executeLanguageModelCall<T>(work: Work<T>): PromiseLike<T>
  executeTool<T>(work: ToolWork<T>): PromiseLike<T>
}

/**
 * For AI SDK 7: `registerTelemetry(retakeTelemetry())`. Steps carry the
 * `functionId` of the call as their agent, and the tool they are made by.
 * Nothing is sent anywhere.
 */
export function retakeTelemetry(): RetakeTelemetry {
  requireAiSdk()
  return {
    executeLanguageModelCall: (work) => inAgent(work, work.execute),
    executeTool: (work) => inAgent(work, () => inTool(work)),
  }
}

function inAgent<T>({ functionId: name, callId: id }: Work<T>, body: () => PromiseLike<T>) {
  return name === undefined ? body() : within({ kind: 'agent', name, id }, body)
}

function inTool<T>({ toolCall, toolCallId: id, execute }: ToolWork<T>): PromiseLike<T> {
  const name = toolCall?.toolName
  return name === undefined ? execute() : within({ kind: 'tool', name, id }, execute)
}
