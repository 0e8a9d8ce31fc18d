import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { codeFolders } from './job-process.js'

function unpacked(files: readonly string[]): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-code-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const file of files) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    writeFileSync(path.join(folder, file), '')
  }
  return folder
}

test('the outermost folders with files are mounted where they were recorded', () => {
  const folder = unpacked([
    'home/ann/agent/package.json',
    'home/ann/agent/src/main.ts',
    'home/ann/node_modules/openai/index.js',
  ])
  expect(codeFolders(folder)).toEqual({
    '/home/ann/agent': path.join(folder, 'home/ann/agent'),
    '/home/ann/node_modules/openai': path.join(folder, 'home/ann/node_modules/openai'),
  })
})

test('folders of the system and of the job are never replaced', () => {
  const files = ['usr/bin/node', 'etc/passwd', 'retake/runs/x.tape', 'proc/1/environ', 'file']
  expect(codeFolders(unpacked(files))).toEqual({})
})

test('links of a bundle are not followed', () => {
  const folder = unpacked(['home/ann/main.ts'])
  symlinkSync('/etc', path.join(folder, 'home', 'bob'))
  symlinkSync('/', path.join(folder, 'work'))
  expect(Object.keys(codeFolders(folder))).toEqual(['/home'])
})
