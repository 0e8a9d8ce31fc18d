/**
 * Names for the steps of the AI SDK. Version 7 has a telemetry integration
 * (`retakeTelemetry`), version 6 settings of a call (`retakeTelemetrySettings`);
 * agents of both can be named by their id (`named`).
 */
export { named } from './named.js'
export type { NamedAgent } from './named.js'
export { retakeTelemetry } from './telemetry.js'
export type { RetakeTelemetry } from './telemetry.js'
export { retakeTelemetrySettings, retakeTracer } from './tracer.js'
export type { RetakeTelemetrySettings, RetakeTracer } from './tracer.js'
