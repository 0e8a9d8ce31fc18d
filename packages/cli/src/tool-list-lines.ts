import type { ToolListDiff } from '@retake/diagnose'
import { DifferenceLines } from './difference-lines.js'
import type { DiffLook } from './diff-lines.js'
import { printable } from './printable.js'

/** What an MCP server offers in one run and not in the other, and what it describes differently. */
export function toolListLines(
  { server, added, removed, changed }: ToolListDiff,
  look: DiffLook,
): string[] {
  const { paint } = look
  const differences = new DifferenceLines(look)
  return [
    paint('bold', `tools of ${printable(server)}`),
    ...removed.map((name) => `  ${paint('red', `- ${printable(name)}`)}`),
    ...added.map((name) => `  ${paint('green', `+ ${printable(name)}`)}`),
    ...changed.flatMap(({ name, fields }) =>
      fields.flatMap((field) =>
        differences.field({ ...field, path: field.path === '' ? name : `${name} ${field.path}` }),
      ),
    ),
  ]
}
