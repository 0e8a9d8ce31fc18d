import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
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
  return { folder, git, write }
}

test('revision and branch match git', () => {
  const { folder, git } = repository()
  const found = { revision: git('rev-parse', 'HEAD'), branch: 'main', dirty: false }
  expect(gitState(folder)).toEqual(found)
  expect(gitState(path.join(folder, 'deep'))).toEqual(found)
  git('checkout', '-q', '--detach')
  expect(gitState(folder)).toEqual({ revision: found.revision, dirty: false })
  git('checkout', '-q', 'main')
  git('pack-refs', '--all')
  expect(gitState(folder)).toEqual(found)
})

test('a tracked file that differs makes it dirty; one that was only touched, or is not tracked, does not', () => {
  const { folder, git, write } = repository()
  write('new.txt', 'not tracked')
  utimesSync(path.join(folder, 'a.txt'), 1, 1)
  expect(gitState(folder)).toMatchObject({ dirty: false })
  write('deep/b.txt', 'TWO')
  expect(gitState(folder)).toMatchObject({ dirty: true })
  git('checkout', '-q', '.')
  expect(gitState(folder)).toMatchObject({ dirty: false })
  rmSync(path.join(folder, 'a.txt'))
  expect(gitState(folder)).toMatchObject({ dirty: true })
})

test('staged changes are never called clean', () => {
  const { folder, git, write } = repository()
  write('a.txt', 'changed')
  git('add', '.')
  expect(gitState(folder)?.dirty).not.toBe(false)
})

test('where the commit is packed it is not known whether the index differs from it', () => {
  const { folder, git, write } = repository()
  git('gc', '-q')
  expect(gitState(folder)?.dirty).toBeUndefined()
  write('a.txt', 'changed')
  expect(gitState(folder)).toMatchObject({ dirty: true })
})

test('a worktree has its own revision, and no folder without git has one', () => {
  const { folder, git } = repository()
  const other = path.join(folder, 'other')
  git('worktree', 'add', '-q', '-b', 'side', other)
  expect(gitState(other)).toEqual({
    revision: git('rev-parse', 'side'),
    branch: 'side',
    dirty: false,
  })
  const outside = mkdtempSync(path.join(tmpdir(), 'retake-no-git-'))
  onTestFinished(() => rmSync(outside, { recursive: true, force: true }))
  expect(gitState(outside)).toBeUndefined()
})
