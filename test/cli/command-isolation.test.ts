import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { CertificateAuthority } from '@retake/engine/proxy'
import { describe, expect, onTestFinished, test } from 'vitest'
import { cli, folderWith, tapesOf } from './workspace.js'
import { isSoak, sampled, soakOnly } from '../support/soak.js'

const works = (program: string, ...args: string[]): boolean =>
  spawnSync(program, args, { stdio: 'ignore' }).status === 0
const hasPython = works('python3', '--version')
const userNamespace = process.getuid?.() === 0 ? [] : ['--map-root-user']
const sandboxes = {
  bubblewrap: works('bwrap', '--dev-bind', '/', '/', '--unshare-net', 'true'),
  unshare: works('unshare', ...userNamespace, '--net', '--mount', 'true') && works('ip', 'link'),
}

interface Shop {
  readonly url: string
  readonly port: number
  /** Method and address of every request it got. */
  readonly asked: string[]
}

/** Answers everybody and remembers it. */
async function startShop(server: Server, asked: string[]): Promise<Shop> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, asked }
}

function remember(asked: string[]): RequestListener {
  return (request: IncomingMessage, response) => {
    asked.push(`${request.method} ${request.url}`)
    request.resume().on('end', () => response.end(`order ${asked.length}`))
  }
}

const httpShop = (): Promise<Shop> => {
  const asked: string[] = []
  return startShop(createServer(remember(asked)), asked)
}

/** A PATH on which these programs are there but do not work. */
async function pathWithout(...programs: string[]): Promise<string> {
  const { folder } = await folderWith({})
  for (const program of programs) {
    await writeFile(join(folder, program), '#!/bin/sh\necho this one is broken >&2\nexit 1\n')
    await chmod(join(folder, program), 0o755)
  }
  return `${folder}${delimiter}${process.env['PATH'] ?? ''}`
}

/** Pays back an order with what every Python has, and writes to its folder, its home and a temporary file. */
const refund = `
import os, sys, tempfile, urllib.request
shop = sys.argv[1]
print(urllib.request.urlopen(shop + '/refund', data=b'order 1182').read().decode())
for name in ['log.txt', os.path.join(tempfile.gettempdir(), sys.argv[2])]:
    with open(name, 'a') as log:
        log.write('refunded\\n')
    print(open(name).read(), os.path.exists(name))
os.remove('question.txt')
print(sorted(os.listdir('.')), os.getcwd(), os.getuid() if hasattr(os, 'getuid') else '')
`

describe.skipIf(!hasPython)('a replayed command', () => {
  const recordRefund = async () => {
    const workspace = await folderWith({ 'agent.py': refund, 'question.txt': 'Where is it?' })
    const shop = await httpShop()
    const other = `retake-test-${process.pid}-${shop.port}.txt`
    const args = ['record', '--', 'python3', 'agent.py', shop.url, other]
    const recorded = await workspace.retake(args)
    expect(recorded, recorded.stderr).toMatchObject({ code: 0 })
    expect(recorded.stdout).toContain('order 1\n')
    // As it was before, for the replays.
    await rm(join(workspace.folder, 'log.txt'))
    const temporary = join(tmpdir(), other)
    await rm(temporary)
    onTestFinished(() => rm(temporary, { force: true }))
    await writeFile(join(workspace.folder, 'question.txt'), 'Where is it?')
    return { workspace, shop, recorded, temporary }
  }

  const tested = sampled(Object.entries(sandboxes), ([name]) => name === 'unshare')
  for (const [name, isThere] of tested)
    test.skipIf(!isThere)(`sends nothing and changes no file, with ${name}`, async () => {
      const { workspace, shop, recorded, temporary } = await recordRefund()
      expect(shop.asked).toEqual(['POST /refund'])
      const PATH = await pathWithout(...(name === 'unshare' ? ['bwrap'] : []))
      for (let time = 0; time < (isSoak ? 3 : 1); time++) {
        const replayed = await workspace.retake(['replay', 'last'], { env: { PATH } })
        expect(replayed.stdout, replayed.stderr).toBe(recorded.stdout)
        expect(replayed).toMatchObject({ code: 0 })
        expect(replayed.stderr).toContain('identical · 1 request served')
        expect(replayed.stderr).toContain(`network blocked (${name}) · file writes discarded`)
        expect(shop.asked).toEqual(['POST /refund'])
        expect(await readFile(join(workspace.folder, 'question.txt'), 'utf8')).toBe('Where is it?')
        for (const file of [join(workspace.folder, 'log.txt'), temporary])
          await expect(readFile(file), file).rejects.toThrow('ENOENT')
      }
      const told = await workspace.retake(['replay', 'last', '--json'], { env: { PATH } })
      expect(JSON.parse(told.stdout)).toMatchObject({
        isolation: { network: 'blocked', files: 'discarded', by: name },
      })
    })

  test('says what was not blocked if there is no sandbox', async () => {
    soakOnly()
    const { workspace, shop, temporary } = await recordRefund()
    const PATH = await pathWithout('bwrap', 'unshare')
    const replayed = await workspace.retake(['replay', 'last'], { env: { PATH } })
    expect(replayed).toMatchObject({ code: 0 })
    expect(replayed.stderr).not.toContain('identical')
    expect(replayed.stderr).toContain('same requests and output · 1 request served')
    expect(replayed.stderr).toMatch(
      /its file writes and its connections outside the proxy were not blocked/,
    )
    expect(shop.asked).toEqual(['POST /refund'])
    // This time it happened: as before, for the next one.
    await rm(join(workspace.folder, 'log.txt'))
    await rm(temporary)
    await writeFile(join(workspace.folder, 'question.txt'), 'Where is it?')
    const verified = await workspace.retake(['verify', 'last'], { env: { PATH } })
    expect(verified).toMatchObject({ code: 0 })
    expect(verified.stdout).toMatch(/same output .*were not blocked/)
  })

  test.runIf(isSoak && (sandboxes.bubblewrap || sandboxes.unshare))(
    'is identical while other programs open and close socket files',
    async () => {
      const workspace = await folderWith({
        'sockets.mjs': `
import { createServer } from 'node:net'
for (let round = 0; ; round++) {
  const servers = Array.from({ length: 20 }, () => createServer())
  const opened = servers.map((server, n) =>
    new Promise((resolve) => server.listen(process.argv[2] + '/' + round + '-' + n, resolve)))
  await Promise.all(opened)
  if (round === 0) console.log('open')
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
}`,
      })
      await workspace.retake(['record', '--', 'python3', '-c', 'print(1)'])
      const program = join(workspace.folder, 'sockets.mjs')
      const busy = spawn(process.execPath, [program, workspace.folder])
      onTestFinished(() => void busy.kill('SIGKILL'))
      await once(busy.stdout, 'data')
      for (let time = 0; time < 3; time++) {
        const replayed = await workspace.retake(['replay', 'last'])
        expect(replayed.stderr).toContain('identical · 0 requests served')
      }
      expect(busy.exitCode).toBe(null)
    },
  )

  test.skipIf(!sandboxes.bubblewrap && !sandboxes.unshare)(
    'cannot open a connection past the proxy',
    async () => {
      const shop = await httpShop()
      const workspace = await folderWith({
        'agent.py': `
import socket
try:
    connection = socket.create_connection(('127.0.0.1', ${shop.port}), timeout=20)
    connection.sendall(b'GET /direct HTTP/1.0\\r\\n\\r\\n')
    print(len(connection.recv(1000)) > 0)
except OSError as error:
    print('refused')
`,
      })
      const recorded = await workspace.retake(['record', '--', 'python3', 'agent.py'])
      expect(recorded.stdout).toBe('True\n')
      expect(shop.asked).toEqual(['GET /direct'])
      const replayed = await workspace.retake(['replay', 'last'])
      expect(replayed).toMatchObject({ code: 3, stdout: 'refused\n' })
      expect(shop.asked).toEqual(['GET /direct'])
    },
  )
})

describe.skipIf(!hasPython)('HTTPS of a command', () => {
  /** A shop with a certificate that clients trust only if configured to. */
  const secureShop = async () => {
    const authority = new CertificateAuthority()
    const { certificate, key } = authority.issue('127.0.0.1')
    const asked: string[] = []
    const shop = await startShop(
      createTlsServer({ cert: certificate, key }, remember(asked)),
      asked,
    )
    const program = `
import urllib.request
try:
    print(urllib.request.urlopen('https://127.0.0.1:${shop.port}/refund', data=b'1182').read())
except OSError as error:
    print('failed')
`
    const workspace = await folderWith({ 'agent.py': program, 'ca.pem': authority.certificate })
    const file = join(workspace.folder, 'ca.pem')
    const env = { SSL_CERT_FILE: file, NODE_EXTRA_CA_CERTS: file }
    return { shop, workspace, env }
  }

  test('is forwarded and reported as not recorded, and refused on replay', async () => {
    soakOnly()
    const { shop, workspace, env } = await secureShop()
    const recorded = await workspace.retake(['record', '--', 'python3', 'agent.py'], { env })
    expect(recorded.stdout, recorded.stderr).toBe("b'order 1'\n")
    expect(recorded.stderr).toContain(
      `not captured: HTTPS to 127.0.0.1:${shop.port} — not recorded; replay refuses it; record HTTPS with --tls`,
    )
    const strict = ['record', '--strict', '--', 'python3', 'agent.py']
    expect(await workspace.retake(strict, { env })).toMatchObject({ code: 3 })
    const replayed = await workspace.retake(['replay', 'last'])
    expect(replayed).toMatchObject({ code: 3, stdout: 'failed\n' })
    expect(shop.asked).toHaveLength(2)
  })

  test('is recorded and served with --tls, and no private key is on the tape', async () => {
    const { shop, workspace, env } = await secureShop()
    const command = ['record', '--tls', '--', 'python3', 'agent.py']
    const recorded = await workspace.retake(command, { env })
    expect(recorded.stdout, recorded.stderr).toBe("b'order 1'\n")
    expect(recorded.stderr).not.toContain('not captured')
    for (let time = 0; time < 3; time++) {
      const replayed = await workspace.retake(['replay', 'last'])
      expect(replayed, replayed.stderr).toMatchObject({ code: 0, stdout: recorded.stdout })
    }
    expect(shop.asked).toEqual(['POST /refund'])
    const [tape = ''] = await tapesOf(workspace)
    expect(await readFile(tape, 'latin1')).not.toContain('PRIVATE KEY')
    const shown = await workspace.retake(['show', 'last'])
    expect(shown.stdout).toContain(`POST https://127.0.0.1:${shop.port}/refund`)
  })
})

test.skipIf(!hasPython)(
  'requests pass through the proxy of the user, except hosts in NO_PROXY',
  async () => {
    const asked: string[] = []
    const company = await startShop(createServer(remember(asked)), asked)
    const exempt = await httpShop()
    const workspace = await folderWith({
      'agent.py': `
import urllib.request
for url in ['http://shop.invalid/refund', '${exempt.url}/near']:
    print(urllib.request.urlopen(url).read().decode())
`,
    })
    const env = {
      HTTP_PROXY: `http://me:word@127.0.0.1:${company.port}`,
      NO_PROXY: 'other.invalid',
    }
    const recorded = await workspace.retake(['record', '--', 'python3', 'agent.py'], { env })
    expect(recorded, recorded.stderr).toMatchObject({ code: 0, stdout: 'order 1\norder 1\n' })
    expect(recorded.stderr).toContain(
      `requests were forwarded through your own proxy 127.0.0.1:${company.port}, except what NO_PROXY names`,
    )
    expect({ company: asked, exempt: exempt.asked }).toEqual({
      company: ['GET http://shop.invalid/refund'],
      exempt: ['GET /near'],
    })
    const replayed = await workspace.retake(['replay', 'last'])
    expect(replayed, replayed.stderr).toMatchObject({ code: 0, stdout: recorded.stdout })
    expect(asked).toHaveLength(1)
  },
)

test('a command that is stopped while its sandbox starts is not started in another way', async () => {
  const { folder, retake } = await folderWith({ 'agent.sh': 'echo ran >> ran.txt' })
  expect(await retake(['record', '--', 'sh', 'agent.sh'])).toMatchObject({ code: 0 })
  await rm(join(folder, 'ran.txt'))
  const PATH = await pathWithout('unshare')
  const started = join(folder, 'started')
  // As bubblewrap for a moment, it ends by any signal, and what it has just started by none.
  const starting = `#!/bin/sh\nsh -c 'trap "" INT TERM; : > "${started}"; exec tail -f "${started}"' & wait\n`
  await writeFile(join(PATH.split(delimiter)[0] ?? '', 'bwrap'), starting)
  await chmod(join(PATH.split(delimiter)[0] ?? '', 'bwrap'), 0o755)
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const replay = spawn(process.execPath, [cli, 'replay', 'last'], {
      cwd: folder,
      env: { ...process.env, PATH },
      // A process group, to which a terminal sends Ctrl-C.
      detached: true,
      stdio: 'ignore',
    })
    await expect.poll(() => existsSync(started), { interval: 5 }).toBe(true)
    process.kill(-(replay.pid ?? 0), signal)
    expect(await once(replay, 'exit')).toEqual([code, null])
    const left = spawnSync('pgrep', ['-f', started], { encoding: 'utf8' }).stdout
    for (const pid of left.split('\n')) if (pid !== '') process.kill(Number(pid), 'SIGKILL')
    expect(left).toBe('')
    expect(existsSync(join(folder, 'ran.txt'))).toBe(false)
    await rm(started)
  }
})

test('a Node program that is recorded as a command gets a hint', async () => {
  const workspace = await folderWith({ 'agent.mjs': 'console.log(1)' })
  const recorded = await workspace.retake(['record', '--', process.execPath, 'agent.mjs'])
  expect(recorded.stderr).toContain('A Node program: `retake record agent.mjs` records everything')
  const other = await workspace.retake(['record', '--', 'echo', 'agent.mjs'])
  expect(other.stderr).not.toContain('A Node program')
})
