import { readFileSync } from 'node:fs'

interface Attribute {
  readonly key: string
}

const byKey = (attributes: readonly Attribute[]): readonly Attribute[] =>
  attributes.toSorted((left, right) => (left.key < right.key ? -1 : 1))

/** The spans in an OTLP file, by id, their attributes in one order. */
export function spansIn(file: string): unknown {
  interface Spans {
    readonly resourceSpans: readonly {
      readonly resource: { readonly attributes: Attribute[] }
      readonly scopeSpans: readonly {
        readonly scope: object
        readonly spans: readonly { readonly spanId: string; readonly attributes: Attribute[] }[]
      }[]
    }[]
  }
  const { resourceSpans } = JSON.parse(readFileSync(file, 'utf8')) as Spans
  const spans = resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans: own }) =>
      own.map((span) => ({ resource: byKey(resource.attributes), scope, ...span })),
    ),
  )
  return spans
    .map((span) => ({
      ...span,
      attributes: byKey(span.attributes),
    }))
    .toSorted((left, right) => (left.spanId < right.spanId ? -1 : 1))
}
