/**
 * `retake/ai-sdk`: names for the steps of the AI SDK. Version 7 has a telemetry
 * integration (`retakeTelemetry`), version 6 settings of a call
 * (`retakeTelemetrySettings`); agents of both can be named by their id (`nameAgent`).
 * `guardTools` puts tools behind a guard.
 */
export { guardTools } from './guard-tools.js'
export type { AiSdkGuardOptions } from './guard-tools.js'
export { nameAgent } from './name-agent.js'
export type { AiSdkAgent } from './name-agent.js'
export { retakeTelemetry } from './telemetry.js'
export type { RetakeTelemetry } from './telemetry.js'
export { retakeTelemetrySettings, retakeTracer } from './tracer.js'
export type { RetakeTelemetrySettings, RetakeTracer } from './tracer.js'
