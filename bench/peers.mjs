/**
 * Record and replay of the same HTTP work with Retake and with the recorders
 * people use today. They patch globals, some when they are imported, so each
 * is imported only when it is used, and measured in a process of its own:
 *
 *     node bench/peers.mjs <peer> <record|replay> --url=… --folder=… [--client=fetch|http] [--count=50]
 *
 * prints `{ "name", "ms" }`. Record first, into an empty folder; replay reads
 * it, reaches no network, and fails when its answers differ from the recorded.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runHttpWork } from './http-work.mjs'

const versionOf = (name) => createRequire(import.meta.url)(`${name}/package.json`).version

/**
 * @typedef {object} Peer
 * @property {string} name With its version.
 * @property {() => Promise<number>} record Milliseconds until the work is done and on disk.
 * @property {() => Promise<number>} replay Milliseconds from loading to the last answer.
 */

/**
 * @typedef {object} PeerOptions
 * @property {string} url Base URL of the loopback server. It may be stopped before replay.
 * @property {string} folder Where the recording is kept.
 * @property {'fetch' | 'http'} [client]
 * @property {number} [count] How many posts.
 */

/** Every peer by its short name. @type {Record<string, (options: PeerOptions) => Peer | Promise<Peer>>} */
const peers = { plain: makePlain, retake: makeRetake, polly: makePolly, nock: makeNock }

/** No recorder at all: the floor. Its replay is the same work live again. @param {PeerOptions} options @returns {Peer} */
function makePlain({ url, client = 'fetch', count = 50 }) {
  const work = async () => (await runHttpWork({ url, client, count })).ms
  return { name: 'no recorder', record: work, replay: work }
}

/** @param {PeerOptions} options @returns {Promise<Peer>} */
async function makeRetake({ url, folder, client = 'fetch', count = 50 }) {
  const { record, replay } = await import('@retake/engine')
  const path = join(folder, 'run.txt')
  const work = () => runHttpWork({ url, client, count })
  return {
    name: 'Retake',
    record: async () => {
      const started = performance.now()
      const { output, run } = await record({ name: 'peers', dir: folder }, work)
      const ms = performance.now() - started
      await writeFile(path, run.path)
      await checkDigest(folder, 'record', output.digest)
      return ms
    },
    replay: async () => {
      const tape = await readFile(path, 'utf8')
      const started = performance.now()
      const { output } = await replay(tape, work)
      const ms = performance.now() - started
      await checkDigest(folder, 'replay', output.digest)
      return ms
    },
  }
}

/** @param {PeerOptions} options @returns {Promise<Peer>} */
async function makePolly({ url, folder, client = 'fetch', count = 50 }) {
  const { Polly } = await import('@pollyjs/core')
  const { default: FsPersister } = await import('@pollyjs/persister-fs')
  const { default: adapter } = await (client === 'fetch'
    ? import('@pollyjs/adapter-fetch')
    : import('@pollyjs/adapter-node-http'))
  const run = async (mode) => {
    const started = performance.now()
    const polly = new Polly('peers', {
      mode,
      adapters: [adapter],
      persister: FsPersister,
      persisterOptions: { fs: { recordingsDir: folder } },
      recordIfMissing: false,
      recordFailedRequests: true,
      logLevel: 'silent',
    })
    const { digest } = await runHttpWork({ url, client, count })
    await polly.stop()
    const ms = performance.now() - started
    await checkDigest(folder, mode, digest)
    return ms
  }
  return {
    name: `Polly.js ${Polly.VERSION}`,
    record: () => run('record'),
    replay: () => run('replay'),
  }
}

/** @param {PeerOptions} options @returns {Promise<Peer>} */
async function makeNock({ url, folder, client = 'fetch', count = 50 }) {
  const { default: nock } = await import('nock')
  const path = join(folder, 'nock.json')
  return {
    name: `nock ${versionOf('nock')}`,
    record: async () => {
      const started = performance.now()
      nock.recorder.rec({ output_objects: true, dont_print: true })
      const { digest } = await runHttpWork({ url, client, count })
      await writeFile(path, JSON.stringify(nock.recorder.play()))
      nock.recorder.clear()
      nock.restore()
      const ms = performance.now() - started
      await checkDigest(folder, 'record', digest)
      return ms
    },
    replay: async () => {
      const started = performance.now()
      nock.disableNetConnect()
      nock.define(JSON.parse(await readFile(path, 'utf8')))
      const { digest } = await runHttpWork({ url, client, count })
      const ms = performance.now() - started
      nock.restore()
      await checkDigest(folder, 'replay', digest)
      return ms
    },
  }
}

/** Keeps the digest of a recording, and holds a replay against it. */
async function checkDigest(folder, mode, digest) {
  const path = join(folder, 'digest.txt')
  if (mode === 'record') await writeFile(path, digest)
  else if ((await readFile(path, 'utf8')) !== digest) {
    throw new Error('the replayed answers are not the recorded ones')
  }
}

if (import.meta.filename === process.argv[1]) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      url: { type: 'string' },
      folder: { type: 'string' },
      client: { type: 'string', default: 'fetch' },
      count: { type: 'string', default: '50' },
    },
  })
  const [name, action] = positionals
  const peer = await peers[name]({ ...values, count: Number(values.count) })
  console.log(JSON.stringify({ name: peer.name, ms: await peer[action]() }))
  process.exit()
}
