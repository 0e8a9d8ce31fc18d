/** An OpenTelemetry span that keeps nothing, in the shape of `Span` of `@opentelemetry/api`. */
export interface NoSpan {
  spanContext(): { traceId: string; spanId: string; traceFlags: number }
  setAttribute(...args: unknown[]): this
  setAttributes(...args: unknown[]): this
  addEvent(...args: unknown[]): this
  addLink(...args: unknown[]): this
  addLinks(...args: unknown[]): this
  setStatus(...args: unknown[]): this
  updateName(...args: unknown[]): this
  end(): void
  isRecording(): boolean
  recordException(): void
}

const itself = function (this: NoSpan) {
  return this
} as () => never

export const NO_SPAN: NoSpan = {
  spanContext: () => ({ traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 }),
  setAttribute: itself,
  setAttributes: itself,
  addEvent: itself,
  addLink: itself,
  addLinks: itself,
  setStatus: itself,
  updateName: itself,
  end: () => {},
  isRecording: () => false,
  recordException: () => {},
}
