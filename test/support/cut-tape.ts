import { join } from 'node:path'
import { mkdirSync } from 'node:fs'
import { openTape, TapeWriter } from '@retake/tape/node'

/** Writes a copy of a tape as a kill after `count` events would have left it, into a new folder. */
export function cutTape(path: string, count: number, folder: string): string {
  const source = openTape(path)
  mkdirSync(folder)
  const cut = join(folder, `${source.run.id}.tape`)
  const { type, format: _, seq: _s, at: _a, ...run } = source.run
  const times = [...source.events(0, count)].map(({ at }) => at)
  let next = 0
  const writer = TapeWriter.create(cut, { type, ...run }, source.details, {
    now: () => times[next++] ?? 0,
  })
  for (const { seq, at: _at, ...event } of source.events(1, count))
    writer.append(event, source.body(seq))
  writer.close()
  return cut
}
