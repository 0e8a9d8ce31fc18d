// oxlint-disable vitest/no-standalone-expect -- `attack` makes tests of them.
import { request } from 'node:http'
import { connect } from 'node:net'
import { presets } from '@retake/guard'
import { describe, expect, onTestFinished } from 'vitest'
import { attack, makeWorld, type Setup, shareServer } from './world.js'

/** Reachable where a policy lists it. */
const allowed = shareServer(({ url = '' }) =>
  url.startsWith('/to?') ? new URL(decodeURIComponent(url.slice(4))) : 'hello',
)
/** Must never be reached. */
const inner = shareServer(() => 'inner')

const onlyAllowed: Setup = () => ({
  policy: { name: 'net', network: { allow: [], addresses: [allowed.endpoint] } },
})
const publicOnly: Setup = () => ({ policy: { name: 'net', network: {} } })
const listed: Setup = () => ({ policy: { name: 'net', network: { addresses: [inner.endpoint] } } })

async function expectUnreached(work: () => Promise<unknown>): Promise<void> {
  const before = inner.hits.length
  await work()
  expect(inner.hits.slice(before)).toEqual([])
}

describe('spellings of an address', () => {
  const spelling = (name: string, url: () => string): void =>
    attack(`fetches ${name}`, {
      attack: () =>
        expectUnreached(async () => {
          const { call } = makeWorld(publicOnly)
          expect((await call('fetch', { url: url() })).output).toBe(undefined)
        }),
      twin: async () => {
        const { call } = makeWorld(listed)
        expect(await call('fetch', { url: url() })).toMatchObject({ output: 'inner' })
      },
    })
  spelling(
    'an address with full-width digits and ideographic dots',
    () => `http://１２７。０。０。１:${inner.port}/`,
  )
  spelling('an address of one hexadecimal number', () => `http://0x7f000001:${inner.port}/`)
  spelling(
    'an address in octal, with leading zeros',
    () => `http://0177.0000.00.0001:${inner.port}/`,
  )
  spelling('an address in the form of IPv6', () => `http://[0:0::ffff:7f00:1]:${inner.port}/`)
  spelling(
    'a name of this machine in capitals of another width',
    () => `http://ＬＯＣＡＬＨＯＳＴ:${inner.port}/`,
  )
  spelling(
    'an address behind a backslash and blanks',
    () => ` \thttp:\\\\127.0.0.1:${inner.port}\\x `,
  )
  spelling('an address with a line break in the middle', () => `http://127.\n0.0.1:${inner.port}/`)
  spelling('an address with parts left out', () => `http://127.1:${inner.port}/`)
})

describe('ways to another server', () => {
  attack('another port of an address that is listed', {
    attack: () =>
      expectUnreached(async () => {
        const { call } = makeWorld(onlyAllowed)
        await call('fetch', { url: inner.url })
      }),
    twin: async () => {
      const { call } = makeWorld(onlyAllowed)
      expect(await call('fetch', { url: allowed.url })).toMatchObject({ output: 'hello' })
    },
  })

  attack('a redirect of a listed server that changes host, port and method', {
    attack: () =>
      expectUnreached(async () => {
        const { call } = makeWorld(onlyAllowed)
        const to = encodeURIComponent(inner.url.replace('http://', 'http://user:pass@'))
        await call('fetch', { url: `${allowed.url}to?${to}`, method: 'POST', body: 'x' })
      }),
    twin: async () => {
      const { call } = makeWorld(onlyAllowed)
      const to = encodeURIComponent(allowed.url)
      expect(await call('fetch', { url: `${allowed.url}to?${to}` })).toMatchObject({
        output: 'hello',
      })
    },
  })

  attack('a crawler that follows whatever a page names', {
    attack: () =>
      expectUnreached(async () => {
        const world = makeWorld(onlyAllowed)
        world.run.tool('crawl', async ({ urls }: { urls: string[] }) => {
          const pages = await Promise.allSettled(urls.map((url) => fetch(url)))
          return pages.length
        })
        await world.call('crawl', {
          urls: [allowed.url, inner.url, `${allowed.url}to?${inner.url}`],
        })
        await world.call('crawl', { urls: [[inner.url]] })
      }),
    twin: async () => {
      const world = makeWorld(onlyAllowed)
      world.run.tool('crawl', async ({ urls }: { urls: string[] }) =>
        Promise.all(urls.map(async (url) => (await fetch(url)).text())),
      )
      expect(await world.call('crawl', { urls: [allowed.url, allowed.url] })).toMatchObject({
        output: ['hello', 'hello'],
      })
    },
  })

  attack('options of a request that name one host and connect to another', {
    attack: () =>
      expectUnreached(async () => {
        const world = makeWorld(onlyAllowed)
        world.run.tool('request', (options: object) => httpGet(options))
        await world.call('request', {
          host: '127.0.0.1',
          hostname: '127.0.0.1',
          port: inner.port,
          headers: { host: allowed.endpoint },
        })
        await world.call('request', {
          host: allowed.endpoint,
          hostname: '127.0.0.1',
          port: String(inner.port),
          defaultPort: allowed.port,
        })
      }),
    twin: async () => {
      const world = makeWorld(onlyAllowed)
      world.run.tool('request', (options: object) => httpGet(options))
      expect(
        await world.call('request', { hostname: '127.0.0.1', port: allowed.port }),
      ).toMatchObject({ output: 'hello' })
    },
  })

  attack('another method in small letters or of its own where only GET is allowed', {
    attack: async () => {
      const { call } = makeWorld(() => ({
        policy: presets.network({ allow: [], addresses: [allowed.endpoint], methods: ['GET'] }),
      }))
      const before = allowed.hits.length
      for (const method of ['post', 'DeLeTe', 'PROPFIND', 'patch'])
        await call('fetch', { url: allowed.url, method })
      expect(allowed.hits.slice(before)).toEqual([])
    },
    twin: async () => {
      const { call } = makeWorld(() => ({
        policy: presets.network({ allow: [], addresses: [allowed.endpoint], methods: ['GET'] }),
      }))
      expect(await call('fetch', { url: allowed.url, method: 'get' })).toMatchObject({
        output: 'hello',
      })
    },
  })

  attack('a connection of its own inside a tool that another tool calls', {
    attack: () =>
      expectUnreached(async () => {
        const world = makeWorld(onlyAllowed)
        const open = world.run.tool('open', ({ port }: { port: number }) => rawGet(port))
        world.run.tool('delegate', ({ ports }: { ports: number[] }) =>
          Promise.allSettled(ports.map((port) => open({ port }))).then(() => 'ok'),
        )
        await world.call('delegate', { ports: [inner.port, inner.port] })
      }),
    twin: async () => {
      const world = makeWorld(onlyAllowed)
      const open = world.run.tool('open', ({ port }: { port: number }) => rawGet(port))
      world.run.tool('delegate', ({ port }: { port: number }) => open({ port }))
      expect(await world.call('delegate', { port: allowed.port })).toMatchObject({
        output: expect.stringContaining('hello') as string,
      })
    },
  })

  attack('a server of the tool that passes requests on', {
    attack: () =>
      expectUnreached(async () => {
        const world = makeWorld(publicOnly)
        world.run.tool('serve', async () => {
          const { createServer } = await import('node:http')
          const relay = createServer(
            (_, response) =>
              void fetch(inner.url).then(
                async (answer) => response.end(await answer.text()),
                () => response.end('no'),
              ),
          )
          onTestFinished(() => void relay.close())
          await new Promise<void>((done, fail) =>
            relay.once('error', fail).listen(0, '127.0.0.1', done),
          )
          return (relay.address() as { port: number }).port
        })
        const { output } = await world.call('serve', {})
        if (typeof output === 'number') await fetch(`http://127.0.0.1:${output}/`).catch(() => {})
      }),
    twin: async () => {
      const { call } = makeWorld(() => ({}))
      expect(await call('fetch', { url: inner.url })).toMatchObject({ output: 'inner' })
    },
  })

  attack('a request after the call, from a timer and from a pending promise', {
    attack: () =>
      expectUnreached(async () => {
        const world = makeWorld(onlyAllowed)
        world.run.tool('later', () => {
          setTimeout(() => void fetch(inner.url).catch(() => {}), 20)
          void new Promise((done) => setImmediate(done))
            .then(() => fetch(inner.url))
            .catch(() => {})
        })
        await world.call('later', {})
        await new Promise((done) => setTimeout(done, 120))
      }),
    twin: async () => {
      const world = makeWorld(onlyAllowed)
      world.run.tool('later', async () => {
        await new Promise((done) => setTimeout(done, 20))
        return (await fetch(allowed.url)).text()
      })
      expect(await world.call('later', {})).toMatchObject({ output: 'hello' })
    },
  })
})

const httpGet = (options: object): Promise<string> =>
  new Promise((done, fail) => {
    request(options, (response) => {
      let text = ''
      response.on('data', (part: Buffer) => (text += String(part))).on('end', () => done(text))
    })
      .on('error', fail)
      .end()
  })

const rawGet = (port: number): Promise<string> =>
  new Promise((done, fail) => {
    let text = ''
    connect(port, '127.0.0.1')
      .on('error', fail)
      .on('data', (part) => (text += String(part)))
      .on('close', () => done(text))
      .end(`GET / HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n`)
  })
