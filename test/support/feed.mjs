import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * What to type: at once after the piece before it, or when the program has said
 * some words.
 *
 * @typedef {string | Buffer | { after: string, text: string }} Piece
 */

/**
 * Runs a program and types into its stdin, piece by piece. Without `end`, stdin
 * stays open.
 *
 * @param {readonly string[]} command Program and arguments.
 * @param {{ cwd: string, pieces: readonly Piece[], gapMs?: number, end?: boolean }} options
 * @returns {Promise<{ stdout: string, stderr: string, code: number | null, ms: number }>}
 */
export async function feed([file = '', ...args], { cwd, pieces, gapMs = 60, end = true }) {
  const started = performance.now()
  const child = spawn(file, args, {
    cwd,
    env: { ...process.env, NO_COLOR: '1', VITEST: undefined },
    stdio: 'pipe',
    timeout: 240_000,
    killSignal: 'SIGKILL',
  })
  const stdout = []
  const stderr = []
  child.stdout.on('data', (chunk) => stdout.push(chunk))
  child.stderr.on('data', (chunk) => stderr.push(chunk))
  child.stdin.on('error', () => {})
  const closed = new Promise((resolve) => child.on('close', (code) => resolve(code)))
  // The first words come when the agent is ready to listen.
  await Promise.race([new Promise((resolve) => child.stdout.once('data', resolve)), closed])
  const said = () => Buffer.concat(stdout).toString()
  for (const piece of pieces) {
    if (typeof piece === 'string' || Buffer.isBuffer(piece)) child.stdin.write(piece)
    else {
      while (child.exitCode === null && child.signalCode === null && !said().includes(piece.after))
        await sleep(5)
      child.stdin.write(piece.text)
    }
    await sleep(gapMs)
  }
  if (end) child.stdin.end()
  const code = await closed
  child.stdin.destroy()
  return {
    stdout: said(),
    stderr: Buffer.concat(stderr).toString(),
    code,
    ms: performance.now() - started,
  }
}
