import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { repetitions } from '../support/soak.js'
import { folderWith } from './workspace.js'

const script = fileURLToPath(new URL('../support/change-files.mjs', import.meta.url))

/** Long enough that a change takes a while, and one that is torn would be noticed. */
const textOf = (word: string, index: number): string => `${word} ${index}\n`.repeat(2000)
const FILES = 30

async function projectWithFix() {
  const { folder } = await folderWith({})
  await mkdir(join(folder, 'src'))
  const edits = Array.from({ length: FILES }, (_, index) => ({
    path: `src/${index}.txt`,
    before: index % 10 === 9 ? undefined : textOf('before', index),
    after: textOf('after', index),
  }))
  for (const { path, before } of edits) if (before) await writeFile(join(folder, path), before)
  const fix = {
    id: 'f1',
    title: 'Many files',
    operator: 'o',
    layer: 'code',
    run: 'r',
    folder,
    edits,
  }
  await writeFile(join(folder, 'fix.json'), JSON.stringify(fix))
  return { folder, edits }
}

type Project = Awaited<ReturnType<typeof projectWithFix>>

/** The state of every file: before, after, or torn. */
const statesOf = ({ folder, edits }: Project): string[] =>
  edits.map(({ path, before, after }) => {
    const now = readdirSync(join(folder, 'src')).includes(path.slice(4))
      ? readFileSync(join(folder, path), 'utf8')
      : undefined
    return now === before ? 'before' : now === after ? 'after' : 'torn'
  })

/** Runs the script, and kills it so long after it is ready. */
async function change({ folder }: Project, action: string, killAfterMs?: number) {
  const child = spawn(process.execPath, [script, action], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  let readyAt = 0
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
    if (readyAt > 0) return
    readyAt = performance.now()
    if (killAfterMs !== undefined) setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  expect(signal === null ? stderr : '').toBe('')
  return { code, signal, stdout, tookMs: performance.now() - readyAt }
}

test('a process killed while it applies or undoes a fix leaves whole files, and the next command finishes or reverts it', async () => {
  const project = await projectWithFix()
  const { tookMs } = await change(project, 'apply')
  expect(new Set(statesOf(project))).toEqual(new Set(['after']))
  const kills = repetitions('RETAKE_KILLS', { beforeMerge: 3, soak: 40 })
  let killed = 0
  let state = 'after'
  // Some kills come too late, because the process has ended.
  for (let round = 0; killed < kills; round++) {
    expect(round, 'most kills come too late').toBeLessThan(20 * kills)
    const action = state === 'after' ? 'undo' : 'apply'
    const { signal } = await change(project, action, Math.random() * tookMs)
    const left = new Set(statesOf(project))
    expect(left).not.toContain('torn')
    if (signal === 'SIGKILL') killed++
    const { stdout } = await change(project, 'recover')
    const settled = new Set(statesOf(project))
    expect(settled.size, stdout).toBe(1)
    state = [...settled][0] ?? ''
    // The journal and the files agree.
    expect(stdout.trim().split('\n').at(-1)).toBe(state === 'after' ? '["f1"]' : '[]')
    expect(readdirSync(join(project.folder, 'src')).filter((name) => name.startsWith('.'))).toEqual(
      [],
    )
  }
}, 600_000)
