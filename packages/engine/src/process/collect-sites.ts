import type { TapeWriter } from '@retake/tape/node'
import { callSite } from '../call-site.js'
import type { CallSites } from '../process-task.js'
import { onProcessExit } from './process-exit.js'
import { writeJson } from './write-json.js'

/** Notes where in the agent's code each value is drawn and each timer armed: the tape itself does not hold that. */
export function collectSites(writer: TapeWriter, file: string): void {
  const counts = new Map<string, number>()
  const append = writer.append.bind(writer)
  writer.append = (event, body, json) => {
    if (event.type === 'draw' || event.type === 'timer' || event.type === 'work') {
      const key = JSON.stringify([event.type === 'work' ? event.name : event.kind, callSite()])
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    return append(event, body, json)
  }
  onProcessExit(() => {
    const sites: CallSites = [...counts].map(([key, count]) => {
      const [name, site] = JSON.parse(key) as [string, string | null]
      return { name, count, ...(site !== null && { site }) }
    })
    writeJson(file, sites)
  })
}
