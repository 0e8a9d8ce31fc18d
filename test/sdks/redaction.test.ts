/**
 * Redaction while recording, with every SDK and framework: the same run with the key, the same
 * structure without it, and nothing on the disk that a guess could be checked against.
 */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ModelRequest, ScriptedAnswer } from '@retake/engine/testing'
import { openTape } from '@retake/tape/node'
import { describe, expect, test } from 'vitest'
import { firstDifference } from '../support/first-difference.mjs'
import { contentOf } from '../support/redacted-texts.js'
import { makeWorkspace } from '../support/run-retake.mjs'
import { sampled } from '../support/soak.js'
import { newestScenes, type Scene, scenes } from './scenes.js'
import { createShopModel } from './shop-model.mjs'
import { agentsFolder, isNewest, startWorld } from './world.js'

const NAME = 'Zoë Ångström'
const EMAIL = 'ann.lee@mail.example.org'
const PHONE = '+49 30 901820'
const CARD = '4111 1111 1111 1111'
const CUSTOMER = [NAME, EMAIL, PHONE, CARD]
/** The result of a tool, which an own rule hides. */
const RESULT = 'left the house'

const personal = ['email', 'phone', 'card', 'names:names.txt', String.raw`\d+ left the house \d+`]
const rules = { 'personal data': personal, 'message content': [...personal, 'content'] }
type Rules = keyof typeof rules

/** Texts of which nothing may be left. */
const hidden: Readonly<Record<Rules, readonly string[]>> = {
  'personal data': [...CUSTOMER, RESULT],
  'message content': [...CUSTOMER, RESULT, 'Where is order', 'You said', 'Found it'],
}

/** The model of the shop, which also says who the customer is, in pieces that cut every value. */
function createTalkativeModel(): (request: ModelRequest) => ScriptedAnswer {
  const answerOf = createShopModel()
  return (request) => {
    const answer = answerOf(request)
    if (answer.text === undefined || answer.text.startsWith('{')) return answer
    const text = `${answer.text} for ${NAME} <${EMAIL}>, ${PHONE}, paid by ${CARD}, thank you`
    return { ...answer, text, chunks: 20 }
  }
}

const table: readonly (readonly [string, Rules, Scene])[] = (
  isNewest ? newestScenes : scenes
).flatMap((scene) =>
  (Object.keys(rules) as Rules[]).map((kind) => [scene.title, kind, scene] as const),
)
/** Fetch with streams, and HTTP/2 with binary frames. */
const isRepresentative = ([title, kind]: (typeof table)[number]): boolean =>
  (title === 'openai, chat completions' && kind === 'personal data') ||
  (title === 'Bedrock Converse over HTTP/2' && kind === 'message content')

/** Texts and digests that somebody who has guessed an original could look for. */
function* guessesAbout(texts: readonly string[], original: Buffer): Generator<string> {
  for (const text of texts) {
    yield text
    yield JSON.stringify(text).slice(1, -1)
    yield encodeURIComponent(text)
    for (const encoding of ['hex', 'base64'] as const)
      for (const before of encoding === 'hex' ? [0] : [0, 1, 2]) {
        const encoded = Buffer.from('\0'.repeat(before) + text).toString(encoding)
        yield encoded.slice(encoding === 'hex' ? 0 : Math.ceil((before * 8) / 6), -4)
      }
  }
  for (const content of [...texts, original])
    for (const algorithm of ['sha256', 'sha1', 'md5']) {
      yield createHash(algorithm).update(content).digest('hex')
      yield createHash(algorithm).update(content).digest('base64').slice(0, 20)
    }
}

describe.concurrent('recorded with redaction', () => {
  test.each(sampled(table, isRepresentative))(
    '%s, %s',
    { timeout: 300_000 },
    async (_, kind, scene) => {
      const workspace = await makeWorkspace()
      const { folder, retake } = workspace
      writeFileSync(join(folder, 'names.txt'), `${NAME}\n`)
      const world = await startWorld(scene, createTalkativeModel())
      const owner = { XDG_STATE_HOME: join(folder, 'owner') }
      const stranger = { XDG_STATE_HOME: join(folder, 'stranger') }
      try {
        const redact = rules[kind].flatMap((rule) => ['--redact', rule])
        const recorded = await workspace.record(`${agentsFolder}/${scene.agent}`, {
          provider: world.provider,
          args: scene.args ?? [],
          flags: redact,
          env: { ...world.env, ...owner },
        })
        expect(recorded.code, recorded.stderr + recorded.stdout).toBe(0)
        await world.stop()

        const exact = await workspace.replay({ env: owner })
        const difference = firstDifference(recorded.stdout, exact.stdout)
        expect(difference, `${difference}\n${exact.stderr}`).toBeUndefined()
        expect(exact.code, exact.stderr).toBe(0)
        expect(exact.stderr).toContain('identical ·')
        expect(exact.waysOut).toEqual({})

        const structural = await retake(['replay', 'last', '--trust'], { env: stranger })
        expect(structural.code, structural.stderr).toBe(0)
        expect(structural.stderr).toContain('same structure ·')
        for (const text of CUSTOMER) expect(structural.stdout).not.toContain(text)

        const content = contentOf(join(folder, '.retake'))
        const restored = await retake(['scrub', '--restore', 'last', '-o', 'originals'], {
          env: owner,
        })
        expect(restored.code, restored.stderr).toBe(0)
        const original = openTape(join(folder, restored.stdout.trim()))
        const found = new Set<string>()
        for (const event of original.events()) {
          if (event.type === 'seal') continue
          const body = Buffer.from(original.body(event.seq))
          if (hidden[kind].every((text) => !body.includes(text))) continue
          for (const guess of guessesAbout(hidden[kind], body))
            if (content.includes(guess)) found.add(`${event.type} ${event.seq}: ${guess}`)
        }
        expect([...found]).toEqual([])
      } finally {
        await world.stop()
        await workspace.remove()
      }
    },
  )
})
