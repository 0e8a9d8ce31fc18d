import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { folderWith } from '../cli/workspace.js'
import type { Workspace } from '../support/run-retake.mjs'
import { soakOnly } from '../support/soak.js'

const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url))
const library = JSON.stringify(join(modules, 'retake', 'dist', 'index.js'))

/** A real add-on (the parser of oxc) as a package that Retake has never heard of. */
async function folderWithAddon(files: Readonly<Record<string, string>>): Promise<Workspace> {
  const workspace = await folderWith(files)
  const folder = join(workspace.folder, 'node_modules', 'acme-codec')
  await mkdir(folder, { recursive: true })
  const [binding = ''] = await readdir(join(modules, '@oxc-parser'))
  const names = await readdir(join(modules, '@oxc-parser', binding))
  const addon = names.find((name) => name.endsWith('.node')) ?? ''
  await copyFile(join(modules, '@oxc-parser', binding, addon), join(folder, 'codec.node'))
  await writeFile(
    join(folder, 'index.js'),
    `const native = require('./codec.node')
exports.parse = native.parseSync
exports.parseLater = native.parse
exports.Severity = native.Severity\n`,
  )
  return workspace
}

const uses = `import fs from 'node:fs'
import codec from 'acme-codec'

console.log(typeof codec.parse)
console.log(codec.parse('a.js', 'answer = 42').program.length > 0)
`

test('an unknown native add-on is named with file and line by record, show and doctor', async () => {
  const { retake } = await folderWithAddon({ 'agent.mjs': uses })
  const named = 'acme-codec (native add-on) at agent.mjs:2 — replay stops where it is used'
  const recorded = await retake(['record', 'agent.mjs'])
  expect(recorded.stdout).toBe('function\ntrue\n')
  expect(recorded.stderr).toContain(`not captured: ${named}`)
  expect((await retake(['show', 'last'])).stdout).toContain(named)
  const doctor = await retake(['doctor', 'agent.mjs'])
  expect(doctor).toMatchObject({ code: 3 })
  expect(doctor.stdout).toContain('acme-codec (native add-on)')
  expect(doctor.stdout).toContain('agent.mjs:2')
})

test('the CommonJS line that requires an add-on is named', async () => {
  soakOnly()
  const { retake } = await folderWithAddon({
    'agent.cjs': `\nconst codec = require('acme-codec')\nconsole.log(typeof codec.parse)\n`,
  })
  const { stderr } = await retake(['record', 'agent.cjs'])
  expect(stderr).toContain('acme-codec (native add-on) at agent.cjs:2')
})

test('a replay refuses the use of an unknown add-on, and says why', async () => {
  const { retake } = await folderWithAddon({ 'agent.mjs': uses })
  await retake(['record', 'agent.mjs'])
  const { code, stdout, stderr } = await retake(['replay', 'last'])
  expect(code).toBe(3)
  expect(stdout).toBe('function\n')
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
    'The native add-on acme-codec was used during replay Retake does not capture native code, and a replay never touches the outside world. at agent.mjs:5:19 fix Wrap the calls in tool(), or list the package under `pureAddons` in retake.config if it only computes.',
  )
})

test('a replay stops at a refused add-on even when the program catches the error', async () => {
  soakOnly()
  const { retake } = await folderWithAddon({
    'agent.mjs': `import codec from 'acme-codec'
let length = 0
try {
  length = codec.parse('a.js', 'answer = 42').program.length
} catch {}
console.log('done')
`,
  })
  await retake(['record', 'agent.mjs'])
  const { code, stdout, stderr } = await retake(['replay', 'last'])
  expect(stderr).toContain('acme-codec was used during replay')
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
})

test('a rerun goes live where it uses an unknown add-on', async () => {
  soakOnly()
  const { retake } = await folderWithAddon({ 'agent.mjs': uses })
  const recorded = await retake(['record', 'agent.mjs'])
  const rerun = await retake(['rerun', 'last'])
  expect(rerun).toMatchObject({ code: 0, stdout: recorded.stdout })
  expect(rerun.stderr).toContain('acme-codec was used')
})

test('a program that only loads an add-on replays', async () => {
  soakOnly()
  const { retake } = await folderWithAddon({
    'agent.mjs': `import { parse } from 'acme-codec'\nconsole.log(parse.name, parse.length)\n`,
  })
  const recorded = await retake(['record', 'agent.mjs'])
  expect(await retake(['replay', 'last'])).toMatchObject({ code: 0, stdout: recorded.stdout })
})

test('an add-on that is used inside tool() replays', async () => {
  const { retake } = await folderWithAddon({
    'agent.mjs': `import { tool } from ${library}
import codec from 'acme-codec'
const parse = tool('parse', (text) => codec.parse('a.js', text).program.length > 0)
console.log(await parse('answer = 42'))
`,
  })
  expect(await retake(['record', 'agent.mjs'])).toMatchObject({ code: 0, stdout: 'true\n' })
  expect(await retake(['replay', 'last'])).toMatchObject({ code: 0, stdout: 'true\n' })
})

test('an add-on that the project declares as pure runs in a replay, and is not reported', async () => {
  const { retake } = await folderWithAddon({
    'agent.mjs': uses,
    'retake.config.json': JSON.stringify({ pureAddons: ['acme-*'] }),
  })
  const recorded = await retake(['record', '--strict', 'agent.mjs'])
  expect(recorded).toMatchObject({ code: 0 })
  expect(recorded.stderr).not.toContain('not captured')
  expect(await retake(['replay', 'last'])).toMatchObject({ code: 0, stdout: recorded.stdout })
})

test('answers of a declared add-on arrive in the recorded order', async () => {
  const { retake } = await folderWithAddon({
    'agent.mjs': `import codec from 'acme-codec'

const texts = Array.from({ length: 12 }, (_, index) => 'x = 1;'.repeat(1 + ((index * 7) % 12) * 4000))
await Promise.all(
  texts.map(async (text, index) => {
    await codec.parseLater('a.js', text)
    console.log(index, Math.random())
  }),
)
`,
    'retake.config.json': JSON.stringify({ pureAddons: ['acme-*'] }),
  })
  const recorded = await retake(['record', 'agent.mjs'])
  expect(recorded.stderr).not.toContain('not captured')
  for (let time = 0; time < 3; time++) {
    const { code, stdout, stderr } = await retake(['replay', 'last'])
    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: recorded.stdout })
  }
}, 60_000)
