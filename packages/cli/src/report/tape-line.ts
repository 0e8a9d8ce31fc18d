import path from 'node:path'
import { openOwnTape } from '@retake/tape/node'

/** Files of the tapes that make up a run: the root first, each branch after its parent, the run itself last. */
export function tapeLine(file: string): string[] {
  const line = [file]
  for (let { parent } = openOwnTape(file).run; parent !== undefined;) {
    const above = path.join(path.dirname(file), `${parent.run}.tape`)
    line.unshift(above)
    ;({ parent } = openOwnTape(above).run)
  }
  return line
}
