import { createInterface } from 'node:readline/promises'
import { Interrupted } from '../agent/agent-process.js'

type Ask = (question: string) => Promise<string>

/** Lets `work` put questions to whoever sits at the terminal. Ctrl-C, or the end of the input, ends it as interrupted. */
export async function askOnTerminal<T>(work: (ask: Ask) => Promise<T>): Promise<T> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const stopped = new AbortController()
  lines.on('SIGINT', () => stopped.abort())
  lines.on('close', () => stopped.abort())
  try {
    return await work((question) => lines.question(question, { signal: stopped.signal }))
  } catch (error) {
    if (stopped.signal.aborted) throw new Interrupted('SIGINT')
    throw error
  } finally {
    lines.removeAllListeners('close')
    lines.close()
  }
}
