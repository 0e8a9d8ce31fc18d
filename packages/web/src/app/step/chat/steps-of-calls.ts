import type { StepDetail } from '../../../model/step-detail.js'
import type { RowStore } from '../../run/row-store.js'

/** How far after a model step its tools are looked for. */
const LOOK_AHEAD = 500

/**
 * Finds the steps that ran what a model asked for: calls and steps of one name are
 * paired in order. Only of the answer; who ran earlier calls, their own steps say.
 */
export function callFinder(
  rows: RowStore,
  detail: StepDetail,
): (path: string) => string | undefined {
  let found: Map<string, string> | undefined
  return (path) => {
    if (!path.startsWith('answer.')) return undefined
    found ??= pairUp(rows, detail)
    return found.get(path)
  }
}

function pairUp(rows: RowStore, { label, conversation }: StepDetail): Map<string, string> {
  const found = new Map<string, string>()
  const start = rows.placeOf(label)
  if (start < 0) return found
  const asked: { readonly name: string; readonly path: string }[] = (
    conversation?.answer ?? []
  ).flatMap(({ parts }, message) =>
    parts.flatMap((part, place) =>
      part.type === 'tool_call'
        ? [{ name: part.name, path: `answer.${message}.parts.${place}` }]
        : [],
    ),
  )
  const end = Math.min(rows.length, start + LOOK_AHEAD)
  for (let place = start + 1; place < end && found.size < asked.length; place++) {
    const row = rows.at(place)
    if (row.parent !== label || row.tool === undefined) continue
    const tool = row.tool
    const call = asked.find(({ name, path }) => !found.has(path) && name.endsWith(tool))
    if (call !== undefined) found.set(call.path, row.label)
  }
  return found
}
