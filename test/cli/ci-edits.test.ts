import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startModelServer } from '@retake/engine/testing'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../support/run-retake.mjs'
import { soakOnly } from '../support/soak.js'
import { makeProject } from './runner-project.js'
import { cli } from './workspace.js'

/** Ten kinds of orders; each kind has a prompt of its own, in the code and in a file. */
const KINDS = 10
const TAPES = 100
const TIMES = 3

const agent = `
import { readFileSync } from 'node:fs'
import OpenAI from 'openai'
const client = new OpenAI({ maxRetries: 0 })
const kind = Number(process.argv[2]) % ${KINDS}
const system = readFileSync('prompts/' + kind + '.txt', 'utf8')
const questions = { ${Array.from({ length: KINDS }, (_, kind) => `${kind}: 'Report on kind ${kind}'`).join(', ')} }
const ask = async (content) => {
  const messages = [{ role: 'system', content: system }, { role: 'user', content }]
  const { choices } = await client.chat.completions.create({ model: 'gpt-4o-mini', messages })
  return choices[0].message.content
}
const plan = await ask('Plan order ' + process.argv[2])
const text = await ask(questions[kind] + ': ' + plan)
console.log('RESULT', text)
`

const code = (change: (source: string) => string) => (folder: string) =>
  writeFile(join(folder, 'agent.mjs'), change(agent))
const prompt = (text: string) => (folder: string) => writeFile(join(folder, 'prompts/3.txt'), text)

/** Edits of known effect: on all tapes, or on those of kind 3. */
const EDITS: Readonly<
  Record<string, { make: (folder: string) => Promise<unknown>; kind3: string; requests: number }>
> = {
  'a log line': {
    make: code((source) => source.replace('const plan', "console.error('planning')\nconst plan")),
    kind3: 'unchanged',
    requests: 0,
  },
  'a clock read': {
    make: code((source) =>
      source.replace('const plan', 'const startedAt = Date.now()\nconst plan'),
    ),
    kind3: 'unchanged',
    requests: 0,
  },
  'a renamed variable': {
    make: code((source) => source.replaceAll('questions', 'questionsByKind')),
    kind3: 'unchanged',
    requests: 0,
  },
  'a refactoring to another file': {
    make: async (folder) => {
      const [head = '', tail = ''] = agent.split('const plan')
      await writeFile(join(folder, 'ask.mjs'), `${head}export { ask, kind, questions }`)
      await writeFile(
        join(folder, 'agent.mjs'),
        `import { ask, kind, questions } from './ask.mjs'\nconst plan${tail}`,
      )
    },
    kind3: 'unchanged',
    requests: 0,
  },
  'a harmless word in a question': {
    make: code((source) => source.replace("'Report on kind 3'", "'Report now on kind 3'")),
    kind3: 'same',
    requests: 1,
  },
  'a harmful word in a question': {
    make: code((source) => source.replace("'Report on kind 3'", "'Report badly on kind 3'")),
    kind3: 'fails',
    requests: 1,
  },
  'a harmless word in a prompt file': {
    make: prompt('Be very kind.'),
    kind3: 'same',
    requests: 2,
  },
  'a harmful word in a prompt file': { make: prompt('Be rude.'), kind3: 'fails', requests: 2 },
  'output that is lost': {
    make: code((source) =>
      source.replace(
        "console.log('RESULT', text)",
        "console.log('RESULT', kind === 3 ? '' : text)",
      ),
    ),
    kind3: 'fails',
    requests: 0,
  },
  'one more question at the end': {
    make: code((source) =>
      source.replace(
        "console.log('RESULT'",
        "if (kind === 3) await ask('Thanks')\nconsole.log('RESULT'",
      ),
    ),
    kind3: 'same',
    requests: 1,
  },
}

test(
  `ten edits of known effect on ${TAPES} tapes get the right verdicts, at a fraction of full runs`,
  { timeout: 7_200_000 },
  async () => {
    soakOnly()
    const server = await startModelServer({
      answer: ({ messages }) => {
        const text = messages.at(-1)?.text ?? ''
        if (text.startsWith('Plan'))
          return { text: messages[0]?.text?.includes('rude') ? 'refuse' : 'pay' }
        return { text: text.includes('badly') || text.includes('refuse') ? 'BAD' : 'GOOD' }
      },
    })
    onTestFinished(() => server.stop())
    const files = Object.fromEntries(
      Array.from({ length: KINDS }, (_, kind) => [`prompts/${kind}.txt`, 'Be kind.']),
    )
    const folder = await makeProject({ 'agent.mjs': agent, ...files })
    const retake = (...args: string[]) =>
      run(process.execPath, [cli, ...args], folder, { env: server.env, timeoutMs: 3_600_000 })
    for (let seed = 0; seed < TAPES; seed++)
      expect((await retake('record', 'agent.mjs', String(seed))).code).toBe(0)
    await rename(join(folder, '.retake/runs'), join(folder, 'tapes'))
    await mkdir(join(folder, '.retake/runs'))

    let sent = 0
    const table: string[] = []
    for (const [name, { make, kind3, requests }] of Object.entries(EDITS)) {
      await writeFile(join(folder, 'agent.mjs'), agent)
      await prompt('Be kind.')(folder)
      await make(folder)
      const before = server.requests.length
      const { stdout, stderr } = await retake(
        'verify',
        '--code',
        'today',
        'tapes',
        '--oracle',
        'stdout:GOOD',
        '--times',
        String(TIMES),
        '--json',
      )
      const { counts, line } = JSON.parse(stdout) as {
        counts: Record<string, number>
        line: string
      }
      const affected = TAPES / KINDS
      const expected = { [kind3]: affected, unchanged: TAPES - affected }
      if (kind3 === 'unchanged') expected['unchanged'] = TAPES
      expect(counts, `${name}: ${stderr}`).toMatchObject(expected)
      expect(server.requests.length - before, name).toBe(affected * TIMES * requests)
      sent += server.requests.length - before
      table.push(`${name}: ${line}`)
    }
    const full = Object.keys(EDITS).length * TAPES * TIMES * 2
    const ratio = `requests sent ${sent}, full runs ${full}: ${(full / sent).toFixed(1)} times`
    process.stdout.write(`${[...table, ratio].join('\n')}\n`)
    expect(full / sent).toBeGreaterThanOrEqual(10)
  },
)
