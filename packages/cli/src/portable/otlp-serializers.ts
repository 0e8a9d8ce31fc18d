/** Loaded on demand, and alone: the bundle then has these two and nothing else of the package. */
export { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
