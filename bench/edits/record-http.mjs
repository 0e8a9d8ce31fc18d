/**
 * Preloaded before an agent: records its HTTP requests with nock or Polly.js, or serves them.
 * Requests that were not recorded are sent, as a rerun of Retake does.
 *
 *     EDITS_PEER=nock|polly EDITS_MODE=record|replay EDITS_FOLDER=… node --import … agent.mjs
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const { EDITS_PEER: peer, EDITS_MODE: mode, EDITS_FOLDER: folder = '.' } = process.env

if (peer === 'nock') {
  const { default: nock } = await import('nock')
  const file = join(folder, 'nock.json')
  if (mode === 'record') {
    nock.recorder.rec({ output_objects: true, dont_print: true })
    process.on('exit', () => writeFileSync(file, JSON.stringify(nock.recorder.play())))
  } else {
    const recorded = JSON.parse(readFileSync(file, 'utf8'))
    nock.define(recorded.map((each) => ({ ...each, options: { allowUnmocked: true } })))
  }
}

if (peer === 'polly') {
  const { Polly } = await import('@pollyjs/core')
  const { default: persister } = await import('@pollyjs/persister-fs')
  const { default: adapter } = await import('@pollyjs/adapter-fetch')
  const polly = new Polly('agent', {
    mode,
    adapters: [adapter],
    persister,
    persisterOptions: { fs: { recordingsDir: folder } },
    recordIfMissing: true,
    logLevel: 'silent',
  })
  if (mode === 'record') process.once('beforeExit', () => polly.stop())
}
