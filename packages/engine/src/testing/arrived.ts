import type { IncomingMessage } from 'node:http'
import type { RetakeError } from '../errors.js'
import { KNOWN_PROVIDERS } from '../proxy/known-providers.js'
import type { Arrived } from './model-request.js'
import { testingErrors } from './testing-errors.js'

const BODY_BYTES_MAX = 64 * 1024 * 1024

/** Reads a request to its end. A body that is no JSON object is told in `problem`. */
export async function readArrived(
  message: IncomingMessage,
  number: number,
): Promise<Arrived & { readonly problem?: RetakeError }> {
  const { method = 'GET', url: path = '/' } = message
  const headers = Object.fromEntries(
    Object.entries(message.headers)
      .filter(([name]) => !name.startsWith(':'))
      .map(([name, value]) => [name, String(value)]),
  )
  const text = await readBody(message)
  const body = text === '' ? {} : parseObject(text)
  return {
    number,
    method,
    path,
    headers,
    provider: providerOf(path, headers),
    body: body ?? {},
    ...(body === undefined && { problem: testingErrors.badRequest(path) }),
  }
}

/** The first part of the path, as `env` sets it, else what only one provider's clients send. */
function providerOf(path: string, headers: Readonly<Record<string, string>>): string {
  const [, first = ''] = /^\/([\w-]+)/.exec(path) ?? []
  const agent = headers['user-agent'] ?? ''
  if (/\/openai\/deployments\//.test(path) || 'api-key' in headers) return 'azure'
  if (path.includes('/publishers/')) return 'vertex'
  if (/^groq\//i.test(agent)) return 'groq'
  if (/^mistral-client/i.test(agent)) return 'mistral'
  if (KNOWN_PROVIDERS.some(({ name }) => name === first)) return first
  return (
    KNOWN_PROVIDERS.find(({ paths }) => paths.test(path.replace(/\?.*$/, '')))?.name ?? 'openai'
  )
}

async function readBody(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) throw testingErrors.badRequest(message.url ?? '/')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}
