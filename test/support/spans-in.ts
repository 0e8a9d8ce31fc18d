import { readFileSync } from 'node:fs'

/** The spans in an OTLP file, by id, their attributes in one order. */
export function spansIn(file: string): unknown {
  interface Attribute {
    readonly key: string
  }
  interface Spans {
    readonly resourceSpans: readonly {
      readonly scopeSpans: readonly {
        readonly scope: object
        readonly spans: readonly { readonly spanId: string; readonly attributes: Attribute[] }[]
      }[]
    }[]
  }
  const { resourceSpans } = JSON.parse(readFileSync(file, 'utf8')) as Spans
  const spans = resourceSpans.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans: own }) => own.map((span) => ({ scope, ...span }))),
  )
  return spans
    .map((span) => ({
      ...span,
      attributes: span.attributes.toSorted((left, right) => (left.key < right.key ? -1 : 1)),
    }))
    .toSorted((left, right) => (left.spanId < right.spanId ? -1 : 1))
}
