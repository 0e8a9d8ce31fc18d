import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { FixResult } from '@retake/lab/proof'
import { startModelServer } from '@retake/engine/testing'
import { onTestFinished } from 'vitest'
import { run } from '../support/run-retake.mjs'
import { makeProject } from './runner-project.js'
import { cli } from './workspace.js'

/** Decides on an order. The model sometimes wraps its JSON in a code fence. */
export const agent = `
import OpenAI from 'openai'
const client = new OpenAI({ maxRetries: 0 })
const id = process.argv[2]
const messages = [{ role: 'user', content: 'Decide on order ' + id }]
const { choices } = await client.chat.completions.create({ model: 'gpt-4o-mini', messages })
const decision = JSON.parse(choices[0].message.content)
console.log('RESULT', decision.verdict)
`

const FENCE = '`'.repeat(3)

export interface Fixed {
  readonly result: FixResult
  readonly confined: boolean
  readonly corpus: number
  readonly newTrials: number
  readonly notes: readonly string[]
  readonly model?: {
    readonly requests: number
    readonly candidates: number
    readonly unusable: object
  }
  readonly applied?: { readonly test?: string; readonly noTest?: string }
}

/** Orders 8 and 9 fail. `runs` are in the order of `ids`. `patches` are the answers of the model that writes fixes, in order. */
export async function projectWith(ids: readonly string[], source = agent) {
  const patches: string[] = []
  const prompts: string[] = []
  const next: string[] = []
  const server = await startModelServer({
    answer: ({ messages }) => {
      const text = messages.at(-1)?.text ?? ''
      if (messages[0]?.text?.startsWith('You repair a program')) {
        prompts.push(text)
        return { text: patches.shift() ?? 'I do not know.' }
      }
      const other = next.shift()
      if (other !== undefined) return { text: other }
      const json = `{ "verdict": "${/order [79]/.test(text) ? 'deny' : 'pay'}" }`
      return { text: /order [89]/.test(text) ? `${FENCE}json\n${json}\n${FENCE}` : json }
    },
  })
  onTestFinished(() => server.stop())
  const folder = await makeProject({
    'package.json': '{ "type": "module", "private": true }',
    'agent.mjs': source,
  })
  const env: Record<string, string> = { ...server.env }
  const retake = (...args: string[]) => run(process.execPath, [cli, ...args], folder, { env })
  const runs: string[] = []
  for (const id of ids) {
    await retake('record', 'agent.mjs', id)
    // Names do not tell the order of runs that start in the same second.
    const names = await readdir(join(folder, '.retake/runs'))
    const added = names.filter(
      (name) => name.endsWith('.tape') && !runs.includes(name.slice(0, -5)),
    )
    runs.push(...added.map((name) => name.slice(0, -5)))
  }
  const fix = async (...args: string[]) => {
    const finished = await retake('fix', ...args, '--json')
    const isJson = finished.stdout.startsWith('{')
    const said = finished.stdout + finished.stderr
    return { ...finished, said, ...((isJson ? JSON.parse(finished.stdout) : {}) as Partial<Fixed>) }
  }
  const read = () => readFileSync(join(folder, 'agent.mjs'), 'utf8')
  return { folder, runs, retake, fix, read, env, patches, prompts, next }
}

/** A block as models write it. */
export const block = (search: string, replace: string): string =>
  [
    'Title: A fix',
    '',
    'agent.mjs',
    '<<<<<<< SEARCH',
    search,
    '=======',
    replace,
    '>>>>>>> REPLACE',
  ].join('\n')

/** No rule repairs this: the agent compares with the wrong word. */
export const wrongWord = `
import OpenAI from 'openai'
const client = new OpenAI({ maxRetries: 0 })
const id = process.argv[2]
const messages = [{ role: 'user', content: 'Decide on order ' + id }]
const { choices } = await client.chat.completions.create({ model: 'gpt-4o-mini', messages })
const [, verdict] = /"verdict": "(\\w+)"/.exec(choices[0].message.content)
if (verdict !== 'pays' && verdict !== 'deny') process.exitCode = 1
console.log('RESULT', verdict)
`
export const RIGHT = block("if (verdict !== 'pays'", "if (verdict !== 'pay'")
