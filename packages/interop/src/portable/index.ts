export { sendSpans, tracesUrl } from './send-spans.js'
export { type Span, nanosOf } from './span.js'
