import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('timeline-process.mjs', import.meta.url))

interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly name: string; readonly code?: string; readonly message: string }
}

/** A timeline in a process of its own, and the processes that it starts. */
export interface TimelineProcess {
  readonly pid: number
  call<T>(method: string, ...args: readonly unknown[]): Promise<T>
  /** Gives the call up after a while. */
  callAndAbort(ms: number, method: string, ...args: readonly unknown[]): Promise<unknown>
  /** Ends the controller: with a signal, or by sending it `throw` or `exit`. */
  end(how: NodeJS.Signals | 'throw' | 'exit'): Promise<void>
  children(): number[]
  /** The most children seen at once so far. */
  mostChildren(): number
}

export async function startTimeline(
  tape: string,
  limits: { readonly keyframes?: number; readonly memoryBytes?: number } = {},
  env: NodeJS.ProcessEnv = {},
): Promise<TimelineProcess> {
  const child = fork(script, [tape, JSON.stringify(limits)], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'ignore', 'ipc'],
    env: { ...process.env, NODE_OPTIONS: '', ...env },
  })
  const pid = child.pid ?? 0
  await once(child, 'message')
  const waiting = new Map<number, (answer: Answer) => void>()
  child.on('message', (answer: Answer) => waiting.get(answer.id)?.(answer))
  let lastId = 0
  let most = 0
  const watching = setInterval(() => (most = Math.max(most, childrenOf(pid).length)), 3)
  child.on('exit', (code, signal) => {
    clearInterval(watching)
    const error = { name: 'Error', message: `the controller ended with ${signal ?? code}` }
    for (const [id, answer] of waiting) answer({ id, error })
  })
  const post = async (message: object): Promise<Answer> => {
    const id = ++lastId
    const answer = new Promise<Answer>((resolve) => waiting.set(id, resolve))
    child.send({ id, ...message }, (error) => {
      if (error) waiting.get(id)?.({ id, error: { name: error.name, message: error.message } })
    })
    return answer
  }
  const resultOf = ({ result, error }: Answer): unknown => {
    if (error) throw Object.assign(new Error(error.message), error)
    return result
  }
  return {
    pid,
    call: async <T>(method: string, ...args: readonly unknown[]) =>
      resultOf(await post({ method, args })) as T,
    callAndAbort: async (abortAfterMs, method, ...args) =>
      resultOf(await post({ method, args, abortAfterMs })),
    end: async (how) => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exit = once(child, 'exit')
      if (how === 'throw' || how === 'exit') child.send({ id: 0, method: how })
      else child.kill(how)
      await exit
    },
    children: () => childrenOf(pid),
    mostChildren: () => most,
  }
}

/** Process ids of the living children of a process. */
function childrenOf(parent: number): number[] {
  try {
    const text = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8')
    return text.split(' ').filter(Boolean).map(Number).filter(isAlive)
  } catch {
    return []
  }
}

/** One letter; `Z` is a process that has ended and is not yet taken notice of. */
function stateOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat[stat.lastIndexOf(')') + 2]
  } catch {
    return undefined
  }
}

export const isAlive = (pid: number): boolean => {
  const state = stateOf(pid)
  return state !== undefined && state !== 'Z'
}

/** Those of the processes that are still there after a while. */
export async function survivors(pids: readonly number[], withinMs = 60_000): Promise<number[]> {
  const deadline = performance.now() + withinMs
  while (pids.some(isAlive) && performance.now() < deadline) await sleep(20)
  return pids.filter(isAlive)
}
