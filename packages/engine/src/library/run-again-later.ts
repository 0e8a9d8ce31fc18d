import type { ContinuedResult, ForkOptions, ForkPinnedOptions, ResumeOptions } from './run-again.js'

/**
 * `fork`, `resume`, `rerun` and `forkPinned`, whose code is loaded by the first call. Programs that
 * only record, such as servers, start faster without it.
 */
export const fork = async <T>(
  tape: string,
  agent: () => T | Promise<T>,
  options: ForkOptions,
): Promise<ContinuedResult<T>> => (await import('./run-again.js')).fork(tape, agent, options)

export const resume = async <T>(
  tape: string,
  agent: () => T | Promise<T>,
  options?: ResumeOptions,
): Promise<ContinuedResult<T>> => (await import('./run-again.js')).resume(tape, agent, options)

export const rerun = async <T>(
  tape: string,
  agent: () => T | Promise<T>,
): Promise<ContinuedResult<T>> => (await import('./run-again.js')).rerun(tape, agent)

export const forkPinned = async <T>(
  tape: string,
  agent: () => T | Promise<T>,
  options: ForkPinnedOptions,
): Promise<ContinuedResult<T>> => (await import('./run-again.js')).forkPinned(tape, agent, options)
