// Clients that servers create once, when they are loaded, and functions that ES modules import by name.
import Anthropic from '@anthropic-ai/sdk'
import axios from 'axios'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'
import Groq from 'groq-sdk'
import { Ollama } from 'ollama'
import OpenAI from 'openai'

const ask = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] }

/** @param {string} base */
export function clients(base) {
  const common = { apiKey: 'none', baseURL: base, maxRetries: 0 }
  const openai = new OpenAI(common)
  const anthropic = new Anthropic(common)
  const groq = new Groq(common)
  const ollama = new Ollama({ host: base })
  const provider = createOpenAI(common)
  const model = provider.chat('m')
  const overHttp = axios.create({ baseURL: base })
  const overFetch = axios.create({ baseURL: base, adapter: 'fetch' })
  return {
    'import { randomUUID }': () => randomUUID(),
    'import { readFileSync }': () => readFileSync('note.txt', 'utf8'),
    'import { readFile }': () => readFile('note.txt', 'utf8'),
    'import { execFileSync }': () =>
      execFileSync(process.execPath, ['-p', 'process.hrtime.bigint()'], { encoding: 'utf8' }),
    'import { setTimeout }': () => sleep(20, 'late'),
    openai: async () => (await openai.chat.completions.create(ask)).choices[0].message.content,
    '@anthropic-ai/sdk': async () =>
      (await anthropic.messages.create({ ...ask, max_tokens: 9 })).content[0].text,
    'groq-sdk': async () => (await groq.chat.completions.create(ask)).choices[0].message.content,
    ollama: async () => (await ollama.chat(ask)).message.content,
    ai: async () => (await generateText({ model, prompt: 'Hello', maxRetries: 0 })).text,
    'axios over http': async () => (await overHttp.get('/')).data.count,
    'axios over fetch': async () => (await overFetch.get('/')).data.count,
  }
}
