import { readFileSync } from 'node:fs'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startModelServer, type ModelServer } from '@retake/engine/testing'
import { openTape } from '@retake/tape/node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAwsSignature } from '../support/aws-signature.js'
import { makeWorkspace, type Finished, type Workspace } from '../support/run-retake.mjs'
import { sampled, soakOnly } from '../support/soak.js'
import { tapesOldestFirst } from '../support/tapes-oldest-first.js'

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))

/** Three questions, each with what the one before was answered. */
const agent = `
import { BedrockRuntimeClient, ConverseCommand } from '@aws-sdk/client-bedrock-runtime'
import { NodeHttpHandler } from '@smithy/node-http-handler'

const client = new BedrockRuntimeClient({
  region: 'us-east-1',
  endpoint: process.env.AGENT_BASE_URL,
  systemClockOffset: 0,
  ...(process.argv[2] === 'http1' && { requestHandler: new NodeHttpHandler() }),
})
let seen = 'nothing'
for (const question of ['one', 'two', 'three']) {
  const { output } = await client.send(
    new ConverseCommand({
      modelId: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
      messages: [{ role: 'user', content: [{ text: question + ', seen: ' + seen }] }],
    }),
  )
  seen = output.message.content[0].text
  console.log(seen)
}
client.destroy()
`

/** Credentials, made at run time. Those of a later day are others: they were rotated. */
const credentials = (word: string) => ({
  AWS_ACCESS_KEY_ID: `AKIA${word.toUpperCase().repeat(2)}`,
  AWS_SECRET_ACCESS_KEY: `${word}-secret`.repeat(4),
  AWS_SESSION_TOKEN: `${word}-session`.repeat(4),
})
const then = credentials('recorded')
const now = credentials('rotated')
const THREE_HOURS_MS = 3 * 60 * 60 * 1000

describe.each(sampled(['http2', 'http1'], (protocol) => protocol === 'http2'))(
  'Bedrock over %s',
  (protocol) => {
    let workspace: Workspace
    let server: ModelServer
    let recorded: Finished
    let tapes: string

    const file = (): string => join(workspace.folder, 'agent.mjs')

    /** Runs a command, and gives what the model was asked meanwhile, with how each request was signed. */
    async function branch(args: readonly string[]) {
      const from = server.requests.length
      const { host } = new URL(server.url)
      const finished = await workspace.retake(args, { env: now })
      const sent = server.requests.slice(from).map(({ method, path, headers, messages, body }) => ({
        asked: messages.at(-1)?.text,
        invocation: headers['amz-sdk-invocation-id'],
        token: headers['x-amz-security-token'],
        ...readAwsSignature(
          { method, path, headers: { host, ...headers }, body: JSON.stringify(body) },
          now.AWS_SECRET_ACCESS_KEY,
        ),
      }))
      return { ...finished, sent }
    }

    /** Tape of the recorded run, which is older than those of its branches. */
    const tapePath = (): string => tapesOldestFirst(tapes)[0] ?? ''

    beforeAll(async () => {
      workspace = await makeWorkspace()
      tapes = join(workspace.folder, '.retake', 'runs')
      server = await startModelServer({
        // Slower than it was when recorded: an answer of then would come first.
        answer: ({ messages, number }) => ({
          text: `Heard ${messages.at(-1)?.text}`,
          delayMs: number > 3 ? 600 : 0,
        }),
      })
      await symlink(modules, join(workspace.folder, 'node_modules'))
      await writeFile(file(), agent)
      recorded = await workspace.retake(['record', 'agent.mjs', protocol], {
        env: { ...then, AGENT_BASE_URL: server.url },
      })
      // Signatures hold the second in which they were made.
      await sleep(1100)
    })
    afterAll(async () => {
      await server.stop()
      await workspace.remove()
    })

    test('is recorded without credentials on the tape', async () => {
      expect(recorded.code, recorded.stderr).toBe(0)
      const path = tapePath()
      const bytes = readFileSync(path, 'latin1')
      const signatures = server.requests.map(({ headers }) => headers['authorization'] ?? '')
      expect(signatures.slice(0, 3).every((text) => text.startsWith('AWS4-HMAC-SHA256'))).toBe(true)
      const secrets = [
        ...Object.values(then),
        ...signatures.map((text) => text.replace(/.*Signature=/, '')),
      ]
      expect(bytes).toContain('amz-sdk-invocation-id')
      expect(secrets.filter((secret) => bytes.includes(secret))).toEqual([])
      const requests = [...openTape(path).events()].filter((event) => event.type === 'request')
      const hidden = requests.map(({ headers }) =>
        headers.filter(([, value]) => value === 'retake-hidden').map(([name]) => name),
      )
      expect(hidden.map((names) => names.toSorted())).toEqual(
        Array.from({ length: 3 }, () => ['authorization', 'x-amz-security-token']),
      )
    })

    test('a fork is served up to the edit, and signs its own requests anew', async () => {
      const before = server.requests.map(({ headers }) => headers['amz-sdk-invocation-id'])
      const edit = 'output.message.content.0.text="Edited."'
      const forked = await branch(['fork', tapePath(), '--at', '1', '--set', edit])
      expect(forked.code, forked.stderr).toBe(0)
      expect(forked.stdout.split('\n')[0]).toBe('Edited.')
      expect(forked.sent.map(({ asked }) => asked)).toEqual([
        'two, seen: Edited.',
        'three, seen: Heard two, seen: Edited.',
      ])
      for (const { isValid, accessKey, token, signedAt, invocation } of forked.sent) {
        expect({ isValid, accessKey, token }).toEqual({
          isValid: true,
          accessKey: now.AWS_ACCESS_KEY_ID,
          token: now.AWS_SESSION_TOKEN,
        })
        expect(Math.abs(Date.now() - signedAt)).toBeLessThan(60_000)
        expect(before).not.toContain(invocation)
      }
    })

    test('a rerun hours later, with other credentials, is served from beginning to end', async () => {
      soakOnly()
      await writeFile(
        file(),
        agent.replace('systemClockOffset: 0', `systemClockOffset: ${THREE_HOURS_MS}`),
      )
      const rerun = await branch(['rerun', tapePath()])
      expect(rerun.code, rerun.stderr).toBe(0)
      expect(rerun.stdout).toBe(recorded.stdout)
      expect(rerun.sent).toEqual([])
    })

    test('a rerun with a changed prompt sends only that request, signed for the current time', async () => {
      const later = agent.replace('systemClockOffset: 0', `systemClockOffset: ${THREE_HOURS_MS}`)
      await writeFile(file(), later.replace(`'three'`, `'four'`))
      const rerun = await branch(['rerun', tapePath()])
      expect(rerun.code, rerun.stderr).toBe(0)
      expect(rerun.stderr).not.toMatch(/x-amz|amz-sdk|authorization/)
      expect(rerun.sent.map(({ asked }) => asked)).toEqual([
        'four, seen: Heard two, seen: Heard one, seen: nothing',
      ])
      expect(rerun.stdout.split('\n').slice(0, 3)).toEqual([
        ...recorded.stdout.split('\n').slice(0, 2),
        'Heard four, seen: Heard two, seen: Heard one, seen: nothing',
      ])
      expect(rerun.stderr).toContain('(2 steps not live)')
      expect(rerun.stderr).toContain('(1 step live)')
      const [only] = rerun.sent
      expect(only?.isValid).toBe(true)
      expect(Math.abs(Date.now() + THREE_HOURS_MS - (only?.signedAt ?? 0))).toBeLessThan(60_000)
    })
  },
)
