/**
 * What every attack on paths finds: a folder `root` that the tool may use, and around it
 * what it must neither read nor change.
 */
import { linkSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { lstatSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

export function makeWorld(base) {
  rmSync(base, { recursive: true, force: true })
  const root = join(base, 'root')
  const secret = `the secret of ${Math.random()}`
  for (const folder of [
    'root/sub',
    'root-evil',
    'outside/full',
    'ROOT',
    'my secrets',
    'root/empty',
  ])
    mkdirSync(join(base, folder), { recursive: true })
  const put = (path, text) => writeFileSync(join(base, path), text)
  put('root/notes.txt', 'inside')
  put('root/sub/deep.txt', 'inside')
  put('root/~backup.txt', 'inside')
  put('root/my notes.txt', 'inside')
  put('root/.env', 'RETAKE_PATHS_INSIDE=inside')
  put('root/data.json', '{"text":"inside"}')
  put('root/pointer.txt', '../secret.txt')
  put('root/inner-pointer.txt', 'notes.txt')
  for (const path of [
    'secret.txt',
    'root-evil/secret.txt',
    'outside/secret.txt',
    'ROOT/secret.txt',
  ])
    put(path, secret)
  put('my secrets/secret.txt', secret)
  put('outside/full/secret.txt', secret)
  put('outside/hard.txt', secret)
  put('outside/.env', `RETAKE_PATHS_OUTSIDE=${JSON.stringify(secret)}`)
  put('outside/secret.json', JSON.stringify({ secret }))
  const link = (target, path) => symlinkSync(target, join(root, path))
  link('notes.txt', 'inner-link')
  link('../secret.txt', 'link.txt')
  link('../outside', 'dirlink')
  link('../outside/new.txt', 'dangling')
  link('fresh.txt', 'inner-dangling')
  link(join(base, 'secret.txt'), 'sub/abs')
  link('link.txt', 'chain')
  link('loop', 'loop')
  link('../notes.txt', 'sub/up')
  linkSync(join(base, 'outside/hard.txt'), join(root, 'hard.txt'))
  put('root/one-name.txt', 'inside')
  linkSync(join(root, 'one-name.txt'), join(root, 'other-name.txt'))
  return { base, root, secret, at: (...names) => join(root, ...names) }
}

/** Everything outside of the root, to see that nothing changed. */
export function outsideOf({ base, root }) {
  const lines = []
  const look = (folder) => {
    for (const name of readdirSync(folder).toSorted()) {
      const path = join(folder, name)
      const stats = lstatSync(path)
      const { mode, size, mtimeMs, nlink } = stats
      const content = stats.isSymbolicLink()
        ? readlinkSync(path)
        : stats.isFile()
          ? readFileSync(path, 'utf8')
          : ''
      lines.push(
        [
          relative(base, path),
          mode,
          stats.isFile() ? `${size} ${mtimeMs} ${nlink}` : '',
          content,
        ].join(' '),
      )
      if (stats.isDirectory() && path !== root) look(path)
    }
  }
  look(base)
  return lines.join('\n')
}
