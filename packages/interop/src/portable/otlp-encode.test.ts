import { expect, test } from 'vitest'
import { encodeSpans } from './otlp-encode.js'
import type { Span } from './span.js'

test.each(['json', 'protobuf'] as const)(
  'deep values of attributes are JSON in %s',
  async (encoding) => {
    const span: Span = {
      traceId: '0'.repeat(31) + '1',
      spanId: '0'.repeat(15) + '1',
      name: 'deep',
      kind: 'internal',
      start: '0',
      end: '1',
      status: { code: 0 },
      attributes: { deep: JSON.parse('[['.repeat(400) + ']]'.repeat(400)) as unknown, leaf: 1 },
      events: [],
      links: [],
      resource: { attributes: {} },
      scope: { name: 'test' },
    } as unknown as Span
    const bytes = await encodeSpans([span], encoding)
    expect(Buffer.from(bytes).toString('latin1')).toContain('['.repeat(800 - 30))
  },
)
