import type { Schema, StandardSchema } from '@retake/engine/guard'
import { compileJsonSchema } from '../../guard/json-schema.js'

type Json = Readonly<Record<string, unknown>>

/** What `jsonSchema()` and `zodSchema()` of the AI SDK return. */
interface AiSchema {
  readonly jsonSchema: Json | PromiseLike<Json>
  readonly validate?: unknown
}

/** What a tool of the AI SDK says of its input, and whether the SDK has checked it already. */
export function toolInput(given: unknown): {
  readonly schema: Schema | undefined
  readonly isChecked: boolean
} {
  if ((typeof given !== 'object' && typeof given !== 'function') || given === null)
    return { schema: undefined, isChecked: false }
  if ('~standard' in given) return { schema: given, isChecked: true }
  if (typeof given === 'function') return toolInput((given as () => unknown)())
  const { jsonSchema, validate } = given as AiSchema
  const schema = 'then' in jsonSchema ? later(jsonSchema as PromiseLike<Json>) : jsonSchema
  // Without a function of its own a JSON Schema is only sent to the model; the SDK checks nothing.
  return { schema, isChecked: typeof validate === 'function' }
}

const later = (schema: PromiseLike<Json>): StandardSchema => ({
  '~standard': {
    version: 1,
    vendor: 'ai-sdk',
    validate: async (value) => {
      const issues = compileJsonSchema(await schema)(value)
      return issues.length === 0 ? { value } : { issues }
    },
  },
})
