import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { gitState } from './environment.js'

function repository() {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-git-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: folder,
      encoding: 'utf8',
    }).trim()
  const write = (name: string, text: string): void => writeFileSync(path.join(folder, name), text)
  git('init', '-q', '-b', 'main')
  mkdirSync(path.join(folder, 'deep'))
  write('a.txt', 'one')
  write('deep/b.txt', 'two')
  git('add', '.')
  git('commit', '-qm', 'first')
  return { folder, git }
}

test('revision and branch match git', () => {
  const { folder, git } = repository()
  const found = { revision: git('rev-parse', 'HEAD'), branch: 'main' }
  expect(gitState(folder)).toEqual(found)
  expect(gitState(path.join(folder, 'deep'))).toEqual(found)
  git('checkout', '-q', '--detach')
  expect(gitState(folder)).toEqual({ revision: found.revision })
  git('checkout', '-q', 'main')
  git('pack-refs', '--all')
  expect(gitState(folder)).toEqual(found)
})

test('a worktree has its own revision, and no folder without git has one', () => {
  const { folder, git } = repository()
  const other = path.join(folder, 'other')
  git('worktree', 'add', '-q', '-b', 'side', other)
  expect(gitState(other)).toEqual({ revision: git('rev-parse', 'side'), branch: 'side' })
  const outside = mkdtempSync(path.join(tmpdir(), 'retake-no-git-'))
  onTestFinished(() => rmSync(outside, { recursive: true, force: true }))
  expect(gitState(outside)).toBeUndefined()
})
