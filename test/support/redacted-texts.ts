import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'

/** Everything in a folder of runs: files as they are, events, bodies, and streams as a reader puts them together. */
export function contentOf(folder: string): string {
  const parts: string[] = []
  for (const file of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    const path = join(file.parentPath, file.name)
    parts.push(readFileSync(path).toString())
    if (file.name.endsWith('.tape')) parts.push(...textsOn(openTape(path)))
  }
  return parts.join('\n')
}

function* textsOn(tape: Tape): Generator<string> {
  yield JSON.stringify(tape.details)
  const streams = new Map<string, Buffer[]>()
  for (const event of tape.events()) {
    yield JSON.stringify(event)
    if (event.type === 'seal') continue
    for (const [form, body] of [tape.body(event.seq), tape.storedBody(event.seq)].entries()) {
      yield Buffer.from(body).toString()
      if (event.type !== 'deliver' && event.type !== 'output') continue
      const name = `${form} ${event.type === 'output' ? event.stream : `${event.op} ${event.pipe}`}`
      streams.set(name, [...(streams.get(name) ?? []), Buffer.from(body)])
    }
  }
  for (const pieces of streams.values()) {
    const whole = Buffer.concat(pieces).toString()
    const wrapped = Array.from(whole.matchAll(/[A-Za-z0-9+/]{24,}=*/g), ([base64]) =>
      Buffer.from(base64, 'base64').toString(),
    ).join('\n')
    for (const text of [whole, wrapped]) {
      yield text
      yield Array.from(text.matchAll(/":\s*"((?:[^"\\]|\\.)*)"/g), ([, said]) => said).join('')
      yield Array.from(text.matchAll(SAID), ([, said]) => said).join('')
    }
  }
}

const SAID = /"(?:text|content|delta|generation|outputText)":\s*"((?:[^"\\]|\\.)*)"/g
