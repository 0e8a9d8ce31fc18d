import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSocketServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { TLSSocket } from 'node:tls'
import { CertificateAuthority } from '@retake/engine/proxy'
import { type Forwarding, forwardingOf, hostsText } from '@retake/runner/sandbox'
import type { ProgramNeeds } from '../edge/parts.js'

/** Sends a request of the sandbox to the server, which has the key. Rejects if the server refuses. */
export type ForwardRequest = (request: {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}) => Promise<Response>

const BODY_MAX = 20 << 20
/** Address of the model for Retake's own commands. */
const OWN = { host: '127.0.2.1', port: 8080, isEncrypted: false } as const

/**
 * The only connection out of a job sandbox. The addresses of models that a run used are forwarded to
 * sockets in a folder that the sandbox sees. Encrypted requests are decrypted with a certificate that
 * only this sandbox trusts.
 */
export class ModelGate {
  /** Base URL for Retake's own commands. */
  static readonly url = `http://${OWN.host}:${OWN.port}/v1`
  /** Path of the folder in the sandbox. */
  static readonly inside = '/retake/model'
  readonly folder = mkdtempSync(path.join(tmpdir(), 'retake-model-'))
  readonly forwarding: readonly Forwarding[]
  readonly #servers: Server[] = []

  private constructor(addresses: ProgramNeeds['models']) {
    this.forwarding = forwardingOf(addresses, (_, index) => `${ModelGate.inside}/${index}.sock`)
  }

  static async open(
    models: ProgramNeeds['models'],
    forward: ForwardRequest,
    give: (file: string) => void,
  ): Promise<ModelGate> {
    const addresses = [...models, OWN]
    const gate = new ModelGate(addresses)
    const authority = new CertificateAuthority()
    const http = createServer((request, response) => {
      answer(request, response, forward).catch(() => response.destroy())
    })
    try {
      for (const [index, { host, port, isEncrypted }] of addresses.entries()) {
        const server = createSocketServer((socket) => {
          socket.on('error', () => {})
          const secureContext = isEncrypted ? authority.contextFor(host) : undefined
          const plain =
            secureContext === undefined
              ? socket
              : new TLSSocket(socket, { isServer: true, secureContext })
          plain.on('error', () => socket.destroy())
          origins.set(plain, `${isEncrypted ? 'https' : 'http'}://${host}:${port}`)
          http.emit('connection', plain)
        })
        const file = path.join(gate.folder, `${index}.sock`)
        server.listen(file)
        await once(server, 'listening')
        gate.#servers.push(server)
        give(file)
      }
      writeFileSync(path.join(gate.folder, 'ca.pem'), authority.certificate)
      writeFileSync(path.join(gate.folder, 'hosts'), hostsText(gate.forwarding))
      chmodSync(gate.folder, 0o755)
      give(gate.folder)
      return gate
    } catch (error) {
      gate.close()
      throw error
    }
  }

  /** Variables that make programs trust the certificate. */
  static readonly variables = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE'].map(
    (name) => `${name}=${ModelGate.inside}/ca.pem`,
  )

  close(): void {
    for (const server of this.#servers) server.close()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** The address that each connection was made to. */
const origins = new WeakMap<Socket, string>()

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  forward: ForwardRequest,
): Promise<void> {
  const { method = 'GET', url = '/', headers, socket } = request
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > BODY_MAX) return void response.writeHead(413).end()
    chunks.push(chunk)
  }
  try {
    const body = Buffer.concat(chunks)
    const sent = await forward({ method, url: `${origins.get(socket) ?? ''}${url}`, headers, body })
    const passed = [...sent.headers].filter(([name]) => RETURNED.test(name))
    response.writeHead(Number(sent.headers.get('retake-status') ?? 502), passed.flat())
    if (sent.body === null) response.end()
    else await pipeline(Readable.fromWeb(sent.body as never), response)
  } catch (error) {
    if (response.headersSent) return void response.destroy()
    const { status = 502, message, code = '' } = error as Error & { status?: number; code?: string }
    response.writeHead(status, { 'content-type': 'application/json' })
    // The format of most providers, so that SDKs show the message.
    response.end(JSON.stringify({ type: 'error', error: { type: 'retake', code, message } }))
  }
}

const RETURNED = /^(?:content-type|retry-after|(?:x-)?request-id)$/
