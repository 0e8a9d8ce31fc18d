import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { startUi } from '../scripts/start-ui.mjs'
import { openViewer } from './measure/open-viewer.mjs'
import { writeLongChat } from './measure/long-chat.mjs'
import { median } from './measure/statistics.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const cli = fileURLToPath(new URL('../packages/cli/bin/retake.mjs', import.meta.url))
const PAINT_MS = 1500
const FRAME_MS = 50
const REPORT_BYTES = 2_000_000

/**
 * How fast the viewer shows a long run in Chromium, and how large a report is.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export function measure({ quick }) {
  return withTemporaryFolder(async (folder) => {
    const runs = join(folder, '.retake', 'runs')
    mkdirSync(runs, { recursive: true })
    const rounds = quick ? 1 : 5
    return [
      ...(await measureLive(folder, runs, { quick, rounds })),
      ...(await measureReport(folder, runs, { quick, rounds })),
      await measureSize(folder, runs, { quick }),
    ]
  })
}

async function measureLive(folder, runs, { quick, rounds }) {
  const turns = quick ? 100 : 1470
  const long = writeLongChat(join(runs, 'long.tape'), {
    turns,
    chunks: 62,
    turnsPerConversation: 60,
  })
  const times = []
  const frames = []
  for (let round = 0; round < rounds; round++) {
    // A new server each time: nothing of the run has been read before.
    const ui = await startUi(folder)
    const seen = await openViewer(new URL('/runs/long', ui.url).href, { signIn: ui.url })
    times.push(seen.paintMs)
    frames.push(seen.worstFrameMs)
    await ui.stop()
  }
  return rowsOf(`local UI, ${count(long.events)} events`, times, frames)
}

async function measureReport(folder, runs, { quick, rounds }) {
  const turns = quick ? 50 : 500
  const { steps } = writeLongChat(join(runs, 'report.tape'), {
    turns,
    chunks: 20,
    turnsPerConversation: 60,
  })
  const file = join(folder, 'report.html')
  await retake(folder, ['report', 'report', '-o', file])
  const times = []
  const frames = []
  for (let round = 0; round < rounds; round++) {
    const seen = await openViewer(pathToFileURL(file).href)
    times.push(seen.paintMs)
    frames.push(seen.worstFrameMs)
  }
  return rowsOf(`report file, ${count(steps)} steps`, times, frames)
}

async function measureSize(folder, runs, { quick }) {
  const turns = quick ? 28 : 280
  const { rawBytes } = writeLongChat(join(runs, 'chat.tape'), { turns, chunks: 20 })
  const file = join(folder, 'chat.html')
  await retake(folder, ['report', 'chat', '-o', file])
  const { size } = statSync(file)
  const raw = (rawBytes / 1e6).toFixed(0)
  return {
    name: `report of ${turns} turns / all that was sent and received`,
    ratio: size / rawBytes,
    gate: { max: quick ? 1 : Number((REPORT_BYTES / rawBytes).toFixed(4)) },
    method: `bytes of the file with the viewer in it: ${(size / 1e6).toFixed(2)} MB against ${raw} MB raw; the gate is 2 MB`,
  }
}

const rowsOf = (what, times, frames) => [
  {
    name: `first steps on the screen / 1.5 s (${what})`,
    ratio: median(times) / PAINT_MS,
    gate: { max: 1 },
    method: `from the start of the navigation, p50 of ${times.length} openings: ${median(times).toFixed(0)} ms (${times.map((ms) => ms.toFixed(0)).join(', ')})`,
  },
  {
    name: `longest frame while scrolling / 50 ms (${what})`,
    ratio: Math.max(...frames) / FRAME_MS,
    gate: { max: 1 },
    method: `from the top to the end of the list with the wheel, the longest of ${frames.length} times: ${frames.map((ms) => ms.toFixed(0)).join(', ')} ms`,
  },
]

const count = (number) => `${(number / 1000).toFixed(0)}k`

async function retake(folder, args) {
  const child = spawn(process.execPath, [cli, ...args], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`retake ${args[0]} ended with ${code}`)
}
