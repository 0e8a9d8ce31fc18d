import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { guard, type GuardOptions } from '@retake/guard'
import { onTestFinished } from 'vitest'

/** A folder of tapes, and what the tools of all guards in it have really done. */
export function shop() {
  const dir = mkdtempSync(join(tmpdir(), 'retake-resume-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const done: string[] = []
  const keys: string[] = []
  const failing = new Set<string>()
  const open = (options: Partial<GuardOptions> = {}) => {
    const run = guard({ name: 'shop', dir, resume: true, ...options })
    onTestFinished(() => run[Symbol.dispose]())
    run.tool('pay', ({ to }: { to: string }, { idempotencyKey, use }) => {
      keys.push(idempotencyKey)
      if (failing.has(to)) throw new Error(`no money for ${to}`)
      use({ inputTokens: 10, outputTokens: 1, costUsd: 0.1 })
      done.push(to)
      return { paid: to }
    })
    run.tool('hang', ({ to }: { to: string }, { idempotencyKey }) => {
      keys.push(idempotencyKey)
      done.push(to)
      return hanging ? new Promise<string>(() => {}) : `hung ${to}`
    })
    run.tool('all', async ({ of }: { of: string[] }) => {
      const results = []
      for (const to of of) results.push(await run.call('pay', { to }))
      if (results.some(({ status }) => status !== 'done')) throw new Error('not all were paid')
      return results.map(({ output }) => output)
    })
    return run
  }
  let hanging = false
  return {
    dir,
    done,
    keys,
    failing,
    open,
    /** Makes a call and lets go of the run while its tool is at work, as a kill would. */
    crashIn: async (tool: string, args: unknown): Promise<void> => {
      hanging = true
      const run = open()
      const before = done.length
      void run.call(tool, args)
      while (done.length === before) await new Promise((resolve) => setImmediate(resolve))
      run[Symbol.dispose]()
      hanging = false
    },
  }
}

export const codeOf = (error: unknown): string | undefined =>
  (error as { code?: string } | undefined)?.code

export const tapesIn = (dir: string): string[] =>
  readdirSync(dir)
    .filter((file) => file.endsWith('.tape'))
    .map((file) => join(dir, file))
