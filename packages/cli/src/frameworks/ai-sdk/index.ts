/**
 * `retake/ai-sdk`: names for the steps of the AI SDK. Version 7 has a telemetry
 * integration (`retakeTelemetry`), version 6 settings of a call
 * (`retakeTelemetrySettings`); agents of both can be named by their id (`nameAgent`).
 * `guardTools` puts tools behind a guard.
 */
export { guardTools } from './guard-tools.js'
export type { AiSdkGuardOptions } from './guard-tools.js'
export { nameAgent } from './guard-tools.js'
export type { AiSdkAgent } from './guard-tools.js'
export { retakeTelemetry } from './guard-tools.js'
export type { RetakeTelemetry } from './guard-tools.js'
export { retakeTelemetrySettings, retakeTracer } from './guard-tools.js'
export type { RetakeTelemetrySettings, RetakeTracer } from './guard-tools.js'
