import { dereference, type Schema } from '@cfworker/json-schema'

/**
 * Throws where a reference of a schema leads nowhere, to a schema that would have to be
 * fetched, or round in circles: the validator would only when a value comes along, after
 * the tool has run. Only of `places` is it known that they are schemas: what an example
 * holds is none. It marks the schema, so hand in a copy.
 */
export function checkReferences(schema: Schema, places: ReadonlySet<unknown>): void {
  const known: Readonly<Record<string, Schema | boolean>> = dereference(schema)
  for (const [uri, each] of Object.entries(known)) {
    if (!places.has(each)) continue
    const passed = new Set<Schema>()
    let at: Schema | boolean | undefined = each
    while (typeof at === 'object' && at.$ref !== undefined) {
      const $ref: string = at.$ref
      const place = `${$ref} at ${new URL(uri).hash || '#'}`
      if (passed.has(at)) throw new Error(`${place} leads back to itself`)
      passed.add(at)
      at = known[at.__absolute_ref__ ?? $ref]
      if (at === undefined) throw new Error(`${place} leads nowhere in this schema`)
    }
  }
}
