/** In a separate bundle, loaded on demand, that contains nothing else of the package. */
export { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
