import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** `forgets` confirms writes that it does not keep; `changes` returns other bytes; `hangs` never answers. */
export type Behaviour = 'honest' | 'forgets' | 'changes' | 'hangs'

export interface FakeS3 {
  readonly url: string
  behaviour: Behaviour
  readonly objects: Map<string, Buffer>
  close(): void
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

/** A bucket in memory that speaks enough of S3 for the server, and can lie. Signatures are not checked. */
export async function startFakeS3(): Promise<FakeS3> {
  const objects = new Map<string, Buffer>()
  const uploads = new Map<string, Map<number, Buffer>>()
  const fake = { behaviour: 'honest' as Behaviour, objects }
  const store = (key: string, content: Buffer): void => {
    if (fake.behaviour !== 'forgets') objects.set(key, content)
  }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request)
    if (fake.behaviour === 'hangs') return
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://x')
    const key = decodeURIComponent(pathname).replace(/^\/bucket\/?/, '')
    const upload = query.get('uploadId') ?? ''
    const xml = (text: string) =>
      response.setHeader('content-type', 'application/xml').end(`<?xml version="1.0"?>${text}`)
    const found = objects.get(key)
    if (request.method === 'POST' && query.has('uploads')) {
      const id = `upload${uploads.size}`
      uploads.set(id, new Map())
      xml(
        `<InitiateMultipartUploadResult><Bucket>bucket</Bucket><Key>${key}</Key><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
      )
    } else if (request.method === 'PUT' && upload !== '') {
      uploads.get(upload)?.set(Number(query.get('partNumber')), body)
      response.setHeader('etag', `"part${query.get('partNumber')}"`).end()
    } else if (request.method === 'POST' && upload !== '') {
      const parts = [...(uploads.get(upload) ?? [])].toSorted(([a], [b]) => a - b)
      store(key, Buffer.concat(parts.map(([, part]) => part)))
      xml(
        `<CompleteMultipartUploadResult><Location>x</Location><Bucket>bucket</Bucket><Key>${key}</Key><ETag>"all"</ETag></CompleteMultipartUploadResult>`,
      )
    } else if (request.method === 'PUT') {
      store(key, body)
      response.setHeader('etag', '"one"').end()
    } else if (request.method === 'DELETE') {
      objects.delete(key)
      response.writeHead(204).end()
    } else if (key === '') {
      const prefix = query.get('prefix') ?? ''
      const names = [...objects.keys()].filter((each) => each.startsWith(prefix))
      xml(
        `<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated><KeyCount>${names.length}</KeyCount>${names.map((name) => `<Contents><Key>${name}</Key><Size>1</Size></Contents>`).join('')}</ListBucketResult>`,
      )
    } else if (found === undefined) response.writeHead(404).end()
    else {
      const content = Buffer.from(found)
      if (fake.behaviour === 'changes')
        content.writeUInt8((content.at(-1) ?? 0) ^ 1, content.length - 1)
      response.setHeader('content-length', content.length).setHeader('etag', '"one"')
      response.end(request.method === 'HEAD' ? undefined : content)
    }
  }
  const server = createServer((request, response) => void answer(request, response)).listen(
    0,
    '127.0.0.1',
  )
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return Object.assign(fake, {
    url: `http://127.0.0.1:${port}/bucket`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  })
}
