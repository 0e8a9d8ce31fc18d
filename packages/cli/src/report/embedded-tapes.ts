import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { looseTape, openOwnTape, openTape } from '@retake/tape/node'
import { rewriteLine } from '../redact/rewrite-line.js'

/**
 * The tapes of a run, checked, from the root to the run itself. Of those it goes on from
 * only what it shares with them: the rest is another run, which nobody asked for.
 */
export function embeddedTapes(line: readonly string[]): Uint8Array[] {
  const whole = line.map((file) => looseTape(file))
  if (line.length === 1) return whole
  const folder = mkdtempSync(path.join(os.tmpdir(), 'retake-report-'))
  try {
    const cut = rewriteLine(line, folder, {
      run: (run) => run,
      details: (details) => details,
      event: (event) => event,
      body: (_seq, body) => body,
    })
    // Tapes of an older format are not written again as they were.
    if (!line.slice(1).every((file, place) => isChainedTo(file, cut[place] ?? ''))) return whole
    return [...cut.slice(0, -1).map((file) => looseTape(file)), ...whole.slice(-1)]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function isChainedTo(branch: string, parent: string): boolean {
  const link = openOwnTape(branch).run.parent
  return link !== undefined && openTape(parent).chainAt(link.seq - 1) === link.chain
}
