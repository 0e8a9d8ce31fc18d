import type { Denial } from '../guard-error.js'
import type { GuardedToolOptions } from '../guarded-tool.js'
import { unusable } from './check-schema.js'
import { contractErrors } from './contract-errors.js'
import type { Contract, Schema } from './contract.js'

const KINDS: readonly unknown[] = ['json', 'text', 'binary', 'nothing', undefined]
const FIELDS = ['kind', 'schema', 'onDrift']

/** A contract as it was given: in full, or only a schema. */
export function contractOf(output: Schema | Contract): Contract {
  const isContract = !('~standard' in output) && FIELDS.some((field) => field in output)
  return isContract ? output : { schema: output as Schema }
}

/** Problems in the schemas of a tool, found before it starts and has an effect. */
export function brokenContract(
  tool: string,
  { input, output }: Pick<GuardedToolOptions<never>, 'input' | 'output'>,
): Denial | undefined {
  const contract = output && contractOf(output)
  if (contract !== undefined) {
    const { kind, onDrift } = contract
    if (!KINDS.includes(kind))
      return contractErrors.contractInvalid(tool, `There is no kind ${JSON.stringify(kind)}.`)
    if (onDrift !== undefined && onDrift !== 'warn' && onDrift !== 'block')
      return contractErrors.contractInvalid(
        tool,
        `onDrift is ${JSON.stringify(onDrift)}; it can be "warn" or "block".`,
      )
    const unknown = Object.keys(contract).find((key) => !FIELDS.includes(key))
    if (unknown !== undefined)
      return contractErrors.contractInvalid(tool, `A contract has no field "${unknown}".`)
  }
  for (const schema of [input, contract?.schema]) {
    const why = schema && unusable(schema)
    if (why) return contractErrors.jsonSchemaUnreadable(tool, why)
  }
  return undefined
}
