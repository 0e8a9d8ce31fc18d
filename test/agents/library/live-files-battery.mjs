// Works on files in every way; what it sees must not depend on where the files lie.
import fs, { promises as fsp } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

const seen = []
const see = (label, value) => seen.push([label, value])

/** What a call gives, or how it fails. */
async function look(label, work) {
  try {
    see(label, await work())
  } catch (error) {
    const { code, syscall, path: place, dest } = error
    see(label, { message: error.message, code, syscall, place, dest })
  }
}

const listing = (folder) =>
  fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .map(
      (entry) =>
        `${path.join(entry.parentPath ?? entry.path, entry.name)}${entry.isDirectory() ? '/' : entry.isSymbolicLink() ? '@' : ''}`,
    )
    .toSorted()

/** What is on disk before the run. */
export function prepare() {
  fs.mkdirSync('old/deep/deeper', { recursive: true })
  fs.writeFileSync('old/one.txt', 'one')
  fs.writeFileSync('old/two.txt', 'two')
  fs.writeFileSync('old/deep/three.txt', 'three', { mode: 0o640 })
  fs.writeFileSync('old/deep/deeper/four.txt', 'four')
  fs.writeFileSync('log.jsonl', '{"at":0}\n')
  fs.mkdirSync('real')
  fs.writeFileSync('real/target.txt', 'target')
  fs.symlinkSync('real', 'alias')
  fs.symlinkSync('real/target.txt', 'alias.txt')
  fs.mkdirSync('gone/inside', { recursive: true })
  fs.writeFileSync('gone/inside/x.txt', 'x')
}

/** Before the fork: served from the tape when the branch runs. */
export async function before() {
  fs.writeFileSync('new.txt', 'new')
  fs.appendFileSync('log.jsonl', '{"at":1}\n')
  await fsp.mkdir('made/by/run', { recursive: true })
  await fsp.writeFile('made/by/run/file.txt', 'made')
  await fsp.rename('old/two.txt', 'old/second.txt')
  fs.rmSync('gone', { recursive: true })
  const fd = fs.openSync('parts.txt', 'w+')
  fs.writeSync(fd, 'abc')
  fs.writeSync(fd, 'X', 1)
  fs.ftruncateSync(fd, 2)
  fs.closeSync(fd)
  fs.copyFileSync('old/one.txt', 'copied.txt')
  fs.symlinkSync('new.txt', 'link.txt')
  fs.chmodSync('new.txt', 0o600)
  const stream = fs.createWriteStream('streamed.txt')
  for (const word of ['a ', 'b ', 'c']) stream.write(word)
  stream.end()
  await new Promise((resolve) => stream.on('close', resolve))
  await fsp.appendFile('alias/target.txt', ' grown')
  const folder = await fsp.mkdtemp(path.join(os.tmpdir(), 'retake-battery-'))
  await fsp.writeFile(path.join(folder, 'temporary.txt'), 'temporary')
  await look('nothing there', () => fs.readFileSync('none.txt', 'utf8'))
  return folder
}

/** After it: live, in the overlay. */
export async function after(folder) {
  seen.length = 0
  const read = (name) => fs.readFileSync(name, 'utf8')
  await look('start', () => listing('.').filter((name) => !/^(runs|node_modules)/.test(name)))
  for (const name of [
    'new.txt',
    'log.jsonl',
    'made/by/run/file.txt',
    'old/second.txt',
    'parts.txt',
    'copied.txt',
    'link.txt',
    'streamed.txt',
    'real/target.txt',
    'alias.txt',
    path.join(folder, 'temporary.txt'),
  ])
    await look(`read ${path.basename(name)}`, () => read(name))
  for (const name of ['old/two.txt', 'gone/inside/x.txt', 'gone', 'none.txt']) {
    await look(`missing ${name}`, async () => (await fsp.stat(name)).size)
    await look(`exists ${name}`, () => fs.existsSync(name))
  }
  await look('mode', () => fs.statSync('new.txt').mode & 0o777)
  await look('mode on disk', () => fs.statSync('old/deep/three.txt').mode & 0o777)
  await look('opens a folder', () => read('old'))
  // Writing, by every kind of function.
  await look('write', () => fs.writeFileSync('old/one.txt', 'changed'))
  await look('append', () => fsp.appendFile('log.jsonl', '{"at":2}\n'))
  await look('append with callback', () => promisify(fs.appendFile)('old/deep/three.txt', ' more'))
  await look('exclusive', () => fsp.writeFile('old/one.txt', '', { flag: 'wx' }))
  await look('below a file', () => fsp.writeFile('old/one.txt/x', ''))
  await look('below nothing', () => fs.writeFileSync('nowhere/x', ''))
  await look('truncate', () => fsp.truncate('streamed.txt', 3))
  await look('read again', () =>
    ['old/one.txt', 'log.jsonl', 'old/deep/three.txt', 'streamed.txt'].map(read),
  )
  await look('handle', async () => {
    const handle = await fsp.open('old/deep/deeper/four.txt', 'r+')
    await handle.write('F')
    const { size, mode } = await handle.stat()
    await handle.close()
    return [size, mode, read('old/deep/deeper/four.txt')]
  })
  await look('append stream', async () => {
    const stream = fs.createWriteStream('log.jsonl', { flags: 'a' })
    stream.end('{"at":3}\n')
    await new Promise((resolve) => stream.on('close', resolve))
    let text = ''
    for await (const chunk of fs.createReadStream('log.jsonl', 'utf8')) text += chunk
    return text
  })
  // Links.
  await look('through a link', () => fs.writeFileSync('alias/target.txt', 'by alias'))
  await look('target', () => [read('real/target.txt'), read('alias.txt')])
  await look('readlink', () => [fs.readlinkSync('alias'), fs.readlinkSync('link.txt')])
  await look('realpath', async () =>
    [
      fs.realpathSync('alias/target.txt'),
      await fsp.realpath('link.txt'),
      fs.realpathSync.native('old'),
    ].map((name) => path.relative('.', name)),
  )
  await look('no realpath', () => fs.realpathSync('gone'))
  await look('symlink', () => fs.symlinkSync(path.resolve('old'), 'absolute'))
  await look('symlink twice', () => fs.symlinkSync('x', 'absolute'))
  await look('through it', () => [
    read('absolute/one.txt'),
    fs.lstatSync('absolute').isSymbolicLink(),
    fs.statSync('absolute').isDirectory(),
  ])
  await look('write through it', () => fs.writeFileSync('absolute/fresh.txt', 'fresh'))
  await look('fresh', () => read('old/fresh.txt'))
  await look('link', () => fs.linkSync('old/fresh.txt', 'hard.txt'))
  await look('linked', () => (fs.appendFileSync('hard.txt', '!'), read('old/fresh.txt')))
  // Removing.
  await look('unlink', () => fsp.unlink('old/second.txt'))
  await look('unlink twice', () => fs.unlinkSync('old/second.txt'))
  await look('unlink a folder', () => fs.unlinkSync('real').code)
  await look('rmdir not empty', () => fs.rmdirSync('old/deep'))
  await look('rm a folder', () => fs.rmSync('old/deep'))
  await look('rm nothing', () => fsp.rm('never'))
  await look('rm nothing, forced', () => fsp.rm('never', { force: true }))
  await look('listing', () => listing('old'))
  await look('rm', () => fsp.rm('old/deep', { recursive: true }))
  await look('listing after', () => listing('old'))
  await look('gone', () => read('old/deep/three.txt'))
  await look('again', () => fs.mkdirSync('old/deep'))
  await look('empty again', () => fs.readdirSync('old/deep'))
  await look('mkdir twice', () => fsp.mkdir('old/deep'))
  await look('mkdir deep', () => fs.mkdirSync('old/a/b/c', { recursive: true }))
  await look('mkdir deep again', () => fs.mkdirSync('./old/a/b/d', { recursive: true }))
  await look('mkdir deep there', () => fs.mkdirSync('old/a/b', { recursive: true }) ?? 'nothing')
  await look('rmdir', () => fs.rmdirSync('old/a/b/c'))
  // Moving and copying.
  await look('rename', () => fs.renameSync('new.txt', 'old/moved.txt'))
  await look('renamed', () => [fs.existsSync('new.txt'), read('old/moved.txt')])
  await look('broken link', () => read('link.txt'))
  await look('rename over', () => fsp.rename('copied.txt', 'old/moved.txt'))
  await look('rename nothing', () => fs.renameSync('never', 'old/never'))
  await look('rename a folder', () => fs.renameSync('made', 'old/made'))
  await look('rename into full', () => fs.renameSync('old/deep', 'old/made'))
  await look('folder renamed', () => [listing('old/made'), fs.existsSync('made')])
  await look('copy', () => fs.copyFileSync('log.jsonl', 'old/log.jsonl'))
  await look('copy, no more', () =>
    fs.copyFileSync('log.jsonl', 'old/log.jsonl', fs.constants.COPYFILE_EXCL),
  )
  await look('copy nothing', () => fsp.copyFile('never', 'old/never'))
  await look('cp', () =>
    fsp.cp('old', 'all', { recursive: true, filter: (name) => !name.endsWith('moved.txt') }),
  )
  await look('cp without', () => fs.cpSync('old', 'other').code)
  await look('copied', () => listing('all'))
  await look(
    'times',
    () => (fs.utimesSync('old/one.txt', 1000, 2000), fs.statSync('old/one.txt').mtimeMs),
  )
  await look(
    'chmod',
    () => (fs.chmodSync('real/target.txt', 0o444), fs.statSync('alias.txt').mode & 0o777),
  )
  await look('mkdtemp', async () => {
    const made = await fsp.mkdtemp('temp-')
    await fsp.writeFile(`${made}/x`, 'x')
    return [
      made.startsWith('temp-'),
      made.length,
      fs.readdirSync(made),
      fs.readdirSync('.').includes(made),
    ]
  })
  await look('entries', async () => {
    const names = []
    for await (const { name } of await fsp.opendir('old')) names.push(name)
    return names.toSorted()
  })
  await look('entries at once', () => {
    const folder = fs.opendirSync('old')
    const names = [folder.path]
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync())
      names.push(entry.name)
    folder.closeSync()
    return names.toSorted()
  })
  await look('names below', () =>
    fs
      .readdirSync('.', { recursive: true })
      .filter((name) => !/^(runs|node_modules|temp-)/.test(name))
      .toSorted(),
  )
  await look('glob', () =>
    fs.globSync ? fs.globSync('{old,all}/**/*.{txt,jsonl}').toSorted() : 'since Node 22',
  )
  await look('no entries', () => fs.opendirSync('never'))
  await look('readdir of a file', () => fs.readdirSync('log.jsonl'))
  await look('names as bytes', () => fs.readdirSync('all', 'buffer').map(String))
  await look('access', () => fs.accessSync('gone'))
  await look('blob', async () =>
    fs.openAsBlob ? (await fs.openAsBlob('log.jsonl')).text() : read('log.jsonl'),
  )
  await look('url', () => fs.readFileSync(new URL(`file://${path.resolve('log.jsonl')}`), 'utf8'))
  await look('bytes as path', () => fs.readFileSync(Buffer.from('log.jsonl'), 'utf8'))
  await look(
    'device',
    () => (fs.writeFileSync('/dev/null', 'x'), fs.readFileSync('/dev/null', 'utf8')),
  )
  await look('temporary', async () => {
    await fsp.writeFile(path.join(folder, 'second.txt'), '2')
    return fs.readdirSync(folder)
  })
  await look('end', () => listing('.').filter((name) => !/^(runs|node_modules|temp-)/.test(name)))
  return seen.map(([label, value]) => [label, value ?? null])
}
