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
import { writeRuns } from './runs.mjs'

const cli = fileURLToPath(new URL('../packages/cli/bin/retake.mjs', import.meta.url))
const PAINT_MS = 1500
const FRAME_MS = 50
const REPORT_BYTES = 2_000_000
const LIST_MS = 1000
/** Texts of packages contain examples of keys. */
const ALLOW_SECRETS = '--allow-secrets'

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
      await measureList({ quick, rounds }),
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
  const seen = []
  for (let round = 0; round < rounds; round++) {
    // A new server each time: nothing of the run has been read before.
    const ui = await startUi(folder)
    seen.push(await openViewer(new URL('/runs/long', ui.url).href, { signIn: ui.url }))
    await ui.stop()
  }
  return rowsOf(`local UI, ${count(long.events)} events`, seen)
}

/** The list of many runs. The index exists, as after the first command in the folder. */
function measureList({ quick, rounds }) {
  const runs = quick ? 200 : 5000
  return withTemporaryFolder(async (folder) => {
    const tapes = join(folder, '.retake', 'runs')
    mkdirSync(tapes, { recursive: true })
    writeRuns(tapes, runs)
    await retake(folder, ['list', '--json'])
    const times = []
    for (let round = 0; round < rounds; round++) {
      const ui = await startUi(folder)
      const { paintMs } = await openViewer(new URL('/', ui.url).href, {
        signIn: ui.url,
        row: '[data-run]',
      })
      times.push(paintMs)
      await ui.stop()
    }
    return {
      name: `list of ${count(runs)} runs on the screen / 1 s`,
      ratio: median(times) / LIST_MS,
      gate: { max: 1 },
      method: `a new server each time, p50 of ${rounds} openings: ${listed(times)} ms`,
    }
  })
}

async function measureReport(folder, runs, { quick, rounds }) {
  const turns = quick ? 50 : 500
  const { steps } = writeLongChat(join(runs, 'report.tape'), {
    turns,
    chunks: 20,
    turnsPerConversation: 60,
  })
  const file = join(folder, 'report.html')
  await retake(folder, ['report', 'report', '-o', file, ALLOW_SECRETS])
  const seen = []
  for (let round = 0; round < rounds; round++) seen.push(await openViewer(pathToFileURL(file).href))
  return rowsOf(`report file, ${count(steps)} steps`, seen)
}

async function measureSize(folder, runs, { quick }) {
  const turns = quick ? 28 : 280
  const { rawBytes } = writeLongChat(join(runs, 'chat.tape'), { turns, chunks: 20 })
  const file = join(folder, 'chat.html')
  await retake(folder, ['report', 'chat', '-o', file, ALLOW_SECRETS])
  const { size } = statSync(file)
  const raw = (rawBytes / 1e6).toFixed(0)
  return {
    name: `report of ${turns} turns / all that was sent and received`,
    ratio: size / rawBytes,
    gate: { max: quick ? 1 : Number((REPORT_BYTES / rawBytes).toFixed(4)) },
    method: `bytes of the file with the viewer in it: ${(size / 1e6).toFixed(2)} MB against ${raw} MB raw; the gate is 2 MB`,
  }
}

const listed = (times) =>
  `${median(times).toFixed(0)} (${times.map((ms) => ms.toFixed(0)).join(', ')})`

function rowsOf(what, seen) {
  const times = seen.map(({ paintMs }) => paintMs)
  const frames = seen.map(({ worstFrameMs }) => worstFrameMs)
  const first = seen.map(({ firstPaintMs }) => firstPaintMs)
  const keys = seen.map(({ keyMs }) => keyMs)
  return [
    {
      name: `first steps on the screen / 1.5 s (${what})`,
      ratio: median(times) / PAINT_MS,
      gate: { max: 1 },
      method: `from the start of the navigation, p50 of ${times.length} openings: ${listed(times)} ms; first paint ${listed(first)} ms; \`j\` answered after ${listed(keys)} ms`,
    },
    {
      name: `longest frame while scrolling / 50 ms (${what})`,
      ratio: Math.max(...frames) / FRAME_MS,
      gate: { max: 1 },
      method: `from the top to the end of the list with the wheel, the longest of ${frames.length} times: ${frames.map((ms) => ms.toFixed(0)).join(', ')} ms`,
    },
  ]
}

const count = (number) => `${(number / 1000).toFixed(0)}k`

async function retake(folder, args) {
  const child = spawn(process.execPath, [cli, ...args], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`retake ${args[0]} ended with ${code}`)
}
