import type { IncomingMessage } from 'node:http'
import { clientProvider, type Provider } from '@retake/tape'
import { errors, type RetakeError } from '../errors.js'
import type { Arrived } from './model-request.js'

const BODY_BYTES_MAX = 64 * 1024 * 1024

/** Its route at the proxy, such as `gemini`; its name if it has none. */
export const providerId = ({ name, address }: Provider): string => address?.route ?? name

/** Reads a whole request. `problem` reports a body that is not a JSON object. */
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
    provider: providerId(clientProvider({ path: path.replace(/\?.*$/, ''), headers })),
    body: body ?? {},
    ...(body === undefined && { problem: errors.MODEL_SERVER_BAD_REQUEST(path) }),
  }
}

async function readBody(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) throw errors.MODEL_SERVER_BAD_REQUEST(message.url ?? '/')
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
