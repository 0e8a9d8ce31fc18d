import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { run } from './support/run-retake.mjs'
import { sampled } from './support/soak.js'

const examples = fileURLToPath(new URL('../examples/', import.meta.url))
const names = readdirSync(examples).filter((name) =>
  ['agent.ts', 'agent.mjs'].some((file) => existsSync(join(examples, name, file))),
)

/** What an example says it needs; see examples/run.mjs. */
interface Needs {
  readonly node?: string
  readonly packages?: 'newest'
}

function needsOf(name: string): Needs {
  const path = join(examples, name, 'example.json')
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Needs) : {}
}

/** Why an example is not run here. */
function missing({ node, packages }: Needs): string | undefined {
  const set = process.env['RETAKE_SDKS'] === 'newest' ? 'newest' : undefined
  if (packages !== set) return packages === 'newest' ? 'npm run test:newest' : 'npm test'
  const [, wanted = '0', minor = '0'] = /^>=(\d+)(?:\.(\d+))?/.exec(node ?? '') ?? []
  const [major = 0, patch = 0] = process.versions.node.split('.').map(Number)
  const isOld = major < Number(wanted) || (major === Number(wanted) && patch < Number(minor))
  return isOld ? `Node ${node}` : undefined
}

const tested = sampled(names, (name) => ['openai', 'guard-mcp'].includes(name))

describe.concurrent('examples', () => {
  // What is not run here stands in the report with where it is.
  for (const name of tested) {
    const elsewhere = missing(needsOf(name))
    const note = elsewhere === undefined ? '' : ` (needs ${elsewhere})`
    test.skipIf(elsewhere !== undefined)(
      `${name} prints the same when it is replayed without its model${note}`,
      async () => {
        const args = [join(examples, 'run.mjs'), name]
        const { code, stdout, stderr } = await run(process.execPath, args, examples)
        expect(code, stderr + stdout).toBe(0)
        expect(stdout).toMatch(/^--- recorded\n[^]+\n--- replayed, with the model gone\n[^]+\n$/)
        expect(stderr).toContain('same output')
      },
    )
  }

  test('there is one for each provider', () => {
    expect(names).toEqual(
      expect.arrayContaining(['anthropic', 'bedrock', 'gemini', 'ollama', 'openai']),
    )
  })
})

test('a missing example says how to run one', async () => {
  const { code, stderr } = await run(
    process.execPath,
    [join(examples, 'run.mjs'), 'none'],
    examples,
  )
  expect(code).toBe(2)
  expect(stderr).toContain('usage: node examples/run.mjs')
  expect(stderr).toMatch(/names +ai-sdk\n[^]+ openai\n[^]*others +examples\/curl\/README.md\n/)
})
