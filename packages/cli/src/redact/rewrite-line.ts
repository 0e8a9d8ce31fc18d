import path from 'node:path'
import type { RunDetails, RunEvent, Tape, TapeEvent } from '@retake/tape'
import { openOwnTape, openTape, TapeWriter } from '@retake/tape/node'

/** What is written instead of what stands on a tape. */
export interface Rewriting {
  run(run: RunEvent): RunEvent
  details(details: RunDetails): RunDetails
  event(event: TapeEvent): TapeEvent
  /** By the number of the event in the run. */
  body(seq: number, body: Uint8Array): Uint8Array
}

/**
 * Writes the tapes of a run again, into another folder: of the ones it goes on from only
 * what it shares with them. They are chained anew, each to its new parent. Answers with
 * the files, the run's own last.
 */
export function rewriteLine(
  files: readonly string[],
  folder: string,
  rewriting: Rewriting,
): string[] {
  const links = files.slice(1).map((file) => openOwnTape(file).run.parent?.seq ?? 0)
  const written: string[] = []
  for (const [place, file] of files.entries()) {
    const to = path.join(folder, `${openOwnTape(file).run.id}.tape`)
    const parent = written.at(-1)
    rewriteOne(file, to, rewriting, {
      until: links[place] ?? Infinity,
      parent: parent === undefined ? undefined : openTape(parent),
    })
    written.push(to)
  }
  return written
}

function rewriteOne(
  file: string,
  to: string,
  rewriting: Rewriting,
  { until, parent }: { readonly until: number; readonly parent: Tape | undefined },
): void {
  const own = openOwnTape(file)
  const link = own.run.parent
  const shift = link === undefined ? 0 : link.seq - 1
  const { format: _format, seq: _seq, at: startAt, ...run } = rewriting.run(own.run)
  let at = startAt
  const chained = link && parent ? { parent: { ...link, chain: parent.chainAt(link.seq - 1) } } : {}
  const writer = TapeWriter.create(to, { ...run, ...chained }, rewriting.details(own.details), {
    now: () => at,
    isDurable: false,
  })
  for (const event of own.events(1, Math.min(own.count, until - shift))) {
    at = event.at
    if (event.type === 'seal') break
    const { seq: _own, at: _at, ...rest } = rewriting.event(event)
    writer.hold(rest, rewriting.body(event.seq + shift, own.body(event.seq)))
  }
  if (until !== Infinity || own.status === 'sealed') writer.seal()
  else {
    writer.flush()
    writer.close()
  }
}
